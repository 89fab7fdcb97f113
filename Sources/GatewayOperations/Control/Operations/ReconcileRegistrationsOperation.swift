internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

/// `registrations reconcile`: compares all registrations of the notification hub with the ledger, lists the
/// differences, and repairs them if asked to.
struct ReconcileRegistrationsOperation: ControlOperation {
    static let name = "registrations reconcile"
    static let arguments = RequestedDeletions.arguments.union(["connection_string", "apply", "adopt_installations"])

    let ledger: StoredLedger
    let sweeper: RegistrationSweeper
    /// The hub of the current configuration; nil if it has none outside the gateway's process.
    let hub: HotSwappable<HubRegistrations?>
    let names: NameRules
    let handles: HotSwappable<HandleRules>
    let clocks: Clocks

    /// The number of registrations per transaction. No device can register during a writing one.
    private static let batch = 200

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        guard let hub = hub.value else {
            throw .refused("The configuration has no notification hub outside of the gateway.")
        }
        guard let connectionString = try arguments.text("connection_string") else {
            throw .malformed("connection_string is missing.")
        }
        let isApplying = try arguments.flag("apply")
        let deletions = try RequestedDeletions(arguments, includingHarmful: true)
        let start = clocks.wall()
        let validator = ExportValidator(
            names: names, handles: handles.value, adoptsInstallations: try arguments.flag("adopt_installations"))
        let lines = try await read(hub, connectionString, validator)
        var differences = try await withLedger { () async throws(LedgerUnavailable) in
            var differences = try await HubDifferences(of: lines, at: hub, from: ledger, deletions.kinds)
            try await differences.addMissing(in: ledger, at: hub, notSeenSince: start)
            return differences
        }
        guard isApplying else {
            for difference in differences.all { try await send(difference, "listed", in: context) }
            differences.counts["listed"] = differences.all.count
            return try await sendCounts(differences.counts, in: context)
        }
        try await deletions.check(differences.deletions, of: differences.total, in: context)
        let record = try await context.record(.operatorReconcile, target: "all")
        do throws(ControlError) {
            try await bindOrPurge(&differences, deletions.kinds, in: context)
            try await drop(&differences, notSeenSince: start, in: context)
            differences.counts["skipped"] = differences.skipped.count
            for difference in differences.skipped { try await send(difference, "skipped", in: context) }
        } catch {
            record.failed()
            throw error
        }
        try await sendCounts(differences.counts, in: context)
    }

    private func read(
        _ hub: HubRegistrations, _ connectionString: String, _ validator: ExportValidator
    ) async throws(ControlError) -> [RegistrationImport.Line] {
        var lines: [RegistrationImport.Line] = []
        do throws(HubRegistrations.Unavailable) {
            try await hub.read(with: connectionString) { entries throws(HubRegistrations.Unavailable) in
                for entry in entries {
                    lines.append(RegistrationImport.Line(number: lines.count + 1, entry, validator))
                }
            }
        } catch {
            let reason = "The hub's registrations cannot be listed: \(error.reason). Nothing was changed."
            throw error.isPermanent ? .refused(reason) : .unavailable(reason)
        }
        return lines
    }

    /// Binds the valid registrations that only the hub has, unconfirmed, and marks the requested ones of the others for
    /// deletion.
    private func bindOrPurge(
        _ differences: inout HubDifferences, _ deletions: DeletedKinds, in context: ControlContext
    ) async throws(ControlError) {
        var rest = differences.unrecorded[...]
        while !rest.isEmpty {
            let lines = rest.prefix(Self.batch)
            rest = rest.dropFirst(Self.batch)
            let entries = lines.compactMap { $0.entry(deletions) }
            let results = try await withLedger { () async throws(LedgerUnavailable) in
                try await ledger.importEntries(entries, now: clocks.wall())
            }
            if results.contains(.purged) { sweeper.wake() }
            for (line, result) in zip(lines, results) {
                let word =
                    switch result {
                    case .bound, .confirmed: "bound"
                    case .purged: "purged"
                    // An earlier import or a device of this moment.
                    case .alreadyHandled, .superseded, .rejected: "unchanged"
                    }
                differences.counts[word, default: 0] += 1
                try await send(differences.unrecorded(line), word, in: context)
            }
        }
        guard differences.hasRecognized else { return }
        try await withLedger { () async throws(LedgerUnavailable) in try await ledger.recordImport(now: clocks.wall()) }
    }

    private func drop(
        _ differences: inout HubDifferences, notSeenSince start: WallTime, in context: ControlContext
    ) async throws(ControlError) {
        var rest = differences.dropped[...]
        while !rest.isEmpty {
            let batch = rest.prefix(Self.batch)
            rest = rest.dropFirst(Self.batch)
            let ids = batch.compactMap(\.id)
            let marked = try await withLedger { () async throws(LedgerUnavailable) in
                try await ledger.dropDiffering(ids, notSeenSince: start)
            }
            if !marked.isEmpty { sweeper.wake() }
            let dropped = Set(marked)
            for difference in batch {
                let word = difference.id.map(dropped.contains) == true ? "dropped" : "unchanged"
                differences.counts[word, default: 0] += 1
                try await send(difference, word, in: context)
            }
        }
    }

    private func send(
        _ difference: HubDifference, _ result: String, in context: ControlContext
    ) async throws(ControlError) {
        var members: [JSONValue.Member] = []
        if let id = difference.id { members.append(.init("registration", .string(id.text))) }
        if let kind = difference.kind { members.append(.init("kind", .string(kind))) }
        if let platform = difference.platform { members.append(.init("platform", .string(platform.rawValue))) }
        if let user = difference.user { members.append(.init("user", .string(user.text))) }
        members.append(.init("finding", .string(difference.finding.rawValue)))
        if let reason = difference.reason { members.append(.init("reason", .string(reason))) }
        members.append(.init("result", .string(result)))
        try await context.send(.object(members))
    }

    private func sendCounts(_ counts: [String: Int], in context: ControlContext) async throws(ControlError) {
        try await context.send(
            totals: .object(
                HubDifferences.countNames.map { JSONValue.Member($0, .number(String(counts[$0] ?? 0))) }))
    }
}
