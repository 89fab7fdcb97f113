internal import Foundation
internal import GatewayCore
internal import GatewayStore

/// `registrations import`: takes the hub's registrations from before the gateway in.
struct ImportRegistrationsOperation: ControlOperation {
    static let name = "registrations import"
    static let arguments: Set<String> = ["file", "purge", "confirm-all"]

    let ledger: SQLiteLedger
    let sweeper: RegistrationSweeper
    let names: NameRules
    let handles: HotSwappable<HandleRules>
    let clocks: Clocks

    /// How many entries are written in one transaction: while it lasts no device can register.
    private static let batch = 200
    /// The most bytes that an export may have: half a million registrations or more.
    private static let longest = 1 << 30

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        guard let file = try arguments.text("file"), file.hasPrefix("/") else {
            throw .malformed("file must be an absolute path.")
        }
        let isPurging = try arguments.flag("purge")
        let isConfirming = try arguments.flag("confirm-all")
        let export = RegistrationImport(
            try Self.read(file), judge: ExportValidator(names: names, handles: handles.value))
        let record = try await context.record(
            .operatorImport, target: "\(isPurging ? "purge " : "")\(isConfirming ? "confirm-all " : "")\(file)".cut)
        var counts: [String: Int] = [:]
        do throws(ControlError) {
            var rest = export.lines[...]
            while !rest.isEmpty {
                let lines = rest.prefix(Self.batch)
                rest = rest.dropFirst(Self.batch)
                try await importEntries(lines, isPurging: isPurging, isConfirming: isConfirming, &counts, in: context)
            }
            try await askingLedger { () async throws(LedgerUnavailable) in
                try await ledger.noteImport(now: clocks.wall())
            }
        } catch {
            record.failed()
            throw error
        }
        let state = try await askingLedger { () async throws(LedgerUnavailable) in try await ledger.migration() }
        if case .imported(_, let unconfirmed) = state { counts["unconfirmed"] = unconfirmed }
        try await context.send(
            .object(
                ["bound", "known", "rejected", "purged", "skipped", "confirmed", "unconfirmed"].map {
                    JSONValue.Member($0, .number(String(counts[$0] ?? 0)))
                }))
    }

    private func importEntries(
        _ lines: ArraySlice<RegistrationImport.Line>, isPurging: Bool, isConfirming: Bool,
        _ counts: inout [String: Int], in context: ControlContext
    ) async throws(ControlError) {
        let entries = lines.compactMap(\.entry)
        let verdicts = try await askingLedger { () async throws(LedgerUnavailable) in
            try await ledger.importEntries(entries, purging: isPurging, confirming: isConfirming, now: clocks.wall())
        }
        if verdicts.contains(.purged) { sweeper.wake() }
        var next = verdicts.makeIterator()
        for line in lines {
            let verdict = line.entry == nil ? nil : next.next()
            let word: String
            switch verdict {
            case nil: word = "skipped"
            case .bound: word = "bound"
            case .confirmed: word = "confirmed"
            case .known: word = "known"
            case .superseded, .unsound: word = "rejected"
            case .purged: word = "purged"
            }
            counts[word, default: 0] += 1
            if verdict == .bound || verdict == .known || verdict == .confirmed { continue }
            var members: [JSONValue.Member] = [.init("line", .number(String(line.number)))]
            if let id = line.id { members.append(.init("registration", .string(id.text))) }
            if let handle = line.handle { members.append(.init("platform", .string(handle.service.rawValue))) }
            members.append(.init("result", .string(word)))
            // Sound by itself, but of a device that has another registration by now.
            members.append(.init("reason", .string(line.reason ?? "registered-anew")))
            try await context.send(.object(members))
        }
    }

    private static func read(_ file: String) throws(ControlError) -> Data {
        do {
            let attributes = try FileManager.default.attributesOfItem(atPath: file)
            // A pipe or a device could keep the gateway reading for ever.
            guard attributes[.type] as? FileAttributeType == .typeRegular,
                let size = attributes[.size] as? Int, size <= longest
            else { throw ControlError.refused("\(file) is no file of at most \(longest >> 20) MiB.") }
            return try Data(contentsOf: URL(filePath: file), options: .mappedIfSafe)
        } catch let fault as ControlError {
            throw fault
        } catch {
            throw .refused("\(file) cannot be read by the gateway (uid \(geteuid())): \(OperatorMessage.of(error))")
        }
    }
}

extension String {
    /// So much of a path as a record has room for.
    fileprivate var cut: String { String(prefix(200)) }
}
