internal import Foundation
internal import GatewayConfiguration
internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

/// `registrations import`: imports the hub's registrations from before the gateway into the ledger.
struct ImportRegistrationsOperation: ControlOperation {
    static let name = "registrations import"
    static let arguments = RequestedDeletions.arguments.union([
        "file", "name", "purge", "confirm_all", "adopt_installations",
    ])

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
        let file = try arguments.absolutePath("file")
        let name = try arguments.text("name") ?? file
        let isPurging = try arguments.flag("purge")
        let isConfirming = try arguments.flag("confirm_all")
        let deletions = try RequestedDeletions(arguments, includingHarmful: isPurging)
        let validator = ExportValidator(
            names: names, handles: handles.value, adoptsInstallations: try arguments.flag("adopt_installations"))
        let export = Export(
            lines: RegistrationImport(try Self.read(file), validator: validator).lines, deletions: deletions,
            isConfirming: isConfirming)
        try await check(export, of: name, in: context)
        let record = try await context.record(
            .operatorImport,
            target: "\(isPurging ? "purge " : "")\(isConfirming ? "confirm-all " : "")\(name)".truncated)
        var counts: [String: Int] = [:]
        do throws(ControlError) {
            var rest = export.lines[...]
            while !rest.isEmpty {
                let lines = rest.prefix(Self.batch)
                rest = rest.dropFirst(Self.batch)
                try await importEntries(lines, of: export, &counts, in: context)
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

    /// The validated lines of an export, and what the operator wants of them.
    private struct Export {
        let lines: [RegistrationImport.Line]
        let deletions: RequestedDeletions
        let isConfirming: Bool
    }

    /// Throws, before anything is changed, if the import would do nothing or more than the operator has asked for.
    private func check(_ export: Export, of name: String, in context: ControlContext) async throws(ControlError) {
        var deleted: [RegistrationID: String] = [:]
        var ids: Set<RegistrationID> = []
        var hasRecognized = export.lines.isEmpty
        var results: [(RegistrationImport.Line, ImportResult?)] = []
        var rest = export.lines[...]
        while !rest.isEmpty {
            let lines = rest.prefix(Self.batch)
            rest = rest.dropFirst(Self.batch)
            let entries = lines.compactMap { $0.entry(export.deletions.kinds) }
            let found = try await withLedger { () async throws(LedgerUnavailable) in
                try await ledger.importResults(of: entries, confirming: export.isConfirming)
            }
            var next = found.makeIterator()
            for line in lines {
                let result = line.entry(export.deletions.kinds) == nil ? nil : next.next()
                results.append((line, result))
                if let id = line.id { ids.insert(id) }
                switch result {
                case .bound, .confirmed, .alreadyHandled: hasRecognized = true
                case .purged:
                    hasRecognized = true
                    if let id = line.id { deleted[id] = Self.reason(line) }
                case .superseded, .rejected, nil: break
                }
            }
        }
        guard hasRecognized else {
            for (line, result) in results { try await send(line, Self.word(result), in: context) }
            let reasons = Dictionary(export.lines.map { (Self.reason($0), 1) }, uniquingKeysWith: +)
            throw .refused(
                "None of the \(export.lines.count) lines of \(name) is a registration that the gateway can bind "
                    + "(\(RequestedDeletions.summary(reasons))). Nothing was changed. docs/migration.md describes the "
                    + "format of an export and each reason.")
        }
        try await export.deletions.check(
            Dictionary(deleted.values.map { ($0, 1) }, uniquingKeysWith: +), of: ids.count, in: context)
    }

    private func importEntries(
        _ lines: ArraySlice<RegistrationImport.Line>, of export: Export, _ counts: inout [String: Int],
        in context: ControlContext
    ) async throws(ControlError) {
        let entries = lines.compactMap { $0.entry(export.deletions.kinds) }
        let results = try await withLedger { () async throws(LedgerUnavailable) in
            try await ledger.importEntries(entries, confirming: export.isConfirming, now: clocks.wall())
        }
        if results.contains(.purged) { sweeper.wake() }
        var next = results.makeIterator()
        for line in lines {
            let result = line.entry(export.deletions.kinds) == nil ? nil : next.next()
            let word = Self.word(result)
            counts[word, default: 0] += 1
            if result == .bound || result == .alreadyHandled || result == .confirmed { continue }
            try await send(line, word, in: context)
        }
    }

    private static func word(_ result: ImportResult?) -> String {
        switch result {
        case nil: "skipped"
        case .bound: "bound"
        case .confirmed: "confirmed"
        case .alreadyHandled: "known"
        case .superseded, .rejected: "rejected"
        case .purged: "purged"
        }
    }

    /// Returns the reason why a line is not bound. Without a fault, its device has a newer registration by now.
    private static func reason(_ line: RegistrationImport.Line) -> String { line.reason ?? "registered-anew" }

    private func send(
        _ line: RegistrationImport.Line, _ word: String, in context: ControlContext
    ) async throws(ControlError) {
        var members: [JSONValue.Member] = [.init("line", .number(String(line.number)))]
        if let id = line.id { members.append(.init("registration", .string(id.text))) }
        if let kind = line.kind { members.append(.init("kind", .string(kind))) }
        if let handle = line.handle { members.append(.init("platform", .string(handle.service.rawValue))) }
        members.append(.init("result", .string(word)))
        members.append(.init("reason", .string(Self.reason(line))))
        try await context.send(.object(members))
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
