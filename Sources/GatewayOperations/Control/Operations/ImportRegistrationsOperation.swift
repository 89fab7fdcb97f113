internal import Foundation
internal import GatewayConfiguration
internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

/// `registrations import`: imports the hub's registrations from before the gateway into the ledger.
struct ImportRegistrationsOperation: ControlOperation {
    static let name = "registrations import"
    static let arguments: Set<String> = ["file", "purge", "confirm_all"]

    let ledger: StoredLedger
    let sweeper: RegistrationSweeper
    let names: NameRules
    let handles: HotSwappable<HandleRules>
    let clocks: Clocks

    /// The number of entries per transaction. No device can register during a transaction.
    private static let batch = 200
    /// The maximum size of an export in bytes, enough for at least 500,000 registrations.
    private static let maximumSize = 1 << 30

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        guard let file = try arguments.text("file"), file.hasPrefix("/"), !file.utf8.contains(0) else {
            throw .malformed("file must be an absolute path.")
        }
        let isPurging = try arguments.flag("purge")
        let isConfirming = try arguments.flag("confirm_all")
        let export = RegistrationImport(
            try Self.read(file), validator: ExportValidator(names: names, handles: handles.value))
        let record = try await context.record(
            .operatorImport,
            target: "\(isPurging ? "purge " : "")\(isConfirming ? "confirm-all " : "")\(file)".truncated)
        var counts: [String: Int] = [:]
        do throws(ControlError) {
            var rest = export.lines[...]
            while !rest.isEmpty {
                let lines = rest.prefix(Self.batch)
                rest = rest.dropFirst(Self.batch)
                try await importEntries(lines, isPurging: isPurging, isConfirming: isConfirming, &counts, in: context)
            }
            try await withLedger { () async throws(LedgerUnavailable) in
                try await ledger.recordImport(now: clocks.wall())
            }
        } catch {
            record.failed()
            throw error
        }
        let state = try await withLedger { () async throws(LedgerUnavailable) in try await ledger.migration() }
        if case .imported(_, let unconfirmed) = state { counts["unconfirmed"] = unconfirmed }
        try await context.send(
            totals: .object(
                ["bound", "known", "rejected", "purged", "skipped", "confirmed", "unconfirmed"].map {
                    JSONValue.Member($0, .number(String(counts[$0] ?? 0)))
                }))
    }

    private func importEntries(
        _ lines: ArraySlice<RegistrationImport.Line>, isPurging: Bool, isConfirming: Bool,
        _ counts: inout [String: Int], in context: ControlContext
    ) async throws(ControlError) {
        let entries = lines.compactMap(\.entry)
        let results = try await withLedger { () async throws(LedgerUnavailable) in
            try await ledger.importEntries(entries, purging: isPurging, confirming: isConfirming, now: clocks.wall())
        }
        if results.contains(.purged) { sweeper.wake() }
        var next = results.makeIterator()
        for line in lines {
            let result = line.entry == nil ? nil : next.next()
            let word: String
            switch result {
            case nil: word = "skipped"
            case .bound: word = "bound"
            case .confirmed: word = "confirmed"
            case .alreadyHandled: word = "known"
            case .superseded, .rejected: word = "rejected"
            case .purged: word = "purged"
            }
            counts[word, default: 0] += 1
            if result == .bound || result == .alreadyHandled || result == .confirmed { continue }
            var members: [JSONValue.Member] = [.init("line", .number(String(line.number)))]
            if let id = line.id { members.append(.init("registration", .string(id.text))) }
            if let handle = line.handle { members.append(.init("platform", .string(handle.service.rawValue))) }
            members.append(.init("result", .string(word)))
            // The entry is valid, but its device has a newer registration by now.
            members.append(.init("reason", .string(line.reason ?? "registered-anew")))
            try await context.send(.object(members))
        }
    }

    private static func read(_ file: String) throws(ControlError) -> Data {
        do {
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            // Reading a pipe or a device could block the gateway forever.
            guard attributes[.type] as? FileAttributeType == .typeRegular,
                let size = attributes[.size] as? Int, size <= maximumSize
            else { throw ControlError.refused("\(file) is not a regular file of at most \(maximumSize >> 20) MiB.") }
            return try Data(contentsOf: URL(filePath: file), options: .mappedIfSafe)
        } catch let fault as ControlError {
            throw fault
        } catch {
            throw .refused("\(file) cannot be read by the gateway (uid \(geteuid())): \(OperatorMessage.of(error))")
        }
    }
}

extension String {
    /// The first 200 characters of a path, the maximum in a journal record.
    fileprivate var truncated: String { String(prefix(200)) }
}
