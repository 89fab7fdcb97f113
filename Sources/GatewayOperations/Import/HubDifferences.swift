internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

/// A difference between the hub and the ledger.
struct HubDifference: Sendable {
    /// The kind of a difference.
    enum Finding: String, Sendable {
        /// Only the hub has the registration.
        case unrecorded
        /// The hub has the registration for somebody else, with tags that nobody may have, or for another device.
        case differing
        /// Only the ledger has the registration.
        case missing
    }

    let id: RegistrationID?
    /// The kind of the registration, as the hub names it.
    let kind: String?
    let platform: PushService?
    /// The owner according to the hub's tags, or to the ledger if the hub does not have the registration.
    let user: UserName?
    let finding: Finding
    let reason: String?

    init(_ line: RegistrationImport.Line, _ finding: Finding, reason: String?) {
        id = line.id
        kind = line.kind
        platform = line.handle?.service
        user = line.owner
        self.finding = finding
        self.reason = reason
    }

    /// A registration that only the ledger has.
    init(_ registration: OwnedRegistration) {
        id = registration.id
        kind = nil
        platform = registration.service
        user = registration.owner
        finding = .missing
        reason = nil
    }
}

/// All differences between the hub and the ledger, and the numbers of results.
struct HubDifferences: Sendable {
    /// The ids of all registrations of the hub.
    var ids: Set<RegistrationID> = []
    /// The registrations that only the hub has and that an import binds or purges.
    var unrecorded: [RegistrationImport.Line] = []
    /// The numbers of those whose handle the ledger has under another id, with that id.
    var superseded: [Int: RegistrationID] = [:]
    /// The registrations to delete: at the hub if it has them, and in the ledger.
    var dropped: [HubDifference] = []
    /// The registrations that are left as they are: their deletion was not requested, or another upstream serves their
    /// platform.
    var skipped: [HubDifference] = []
    /// The numbers of results.
    var counts: [String: Int] = [:]

    static let countNames = ["equal", "bound", "purged", "dropped", "unchanged", "skipped", "in-progress", "listed"]

    func unrecorded(_ line: RegistrationImport.Line) -> HubDifference {
        let reason = line.reason ?? (superseded[line.number] == nil ? nil : "registered-anew")
        return HubDifference(line, .unrecorded, reason: reason)
    }

    /// The numbers of deletions, by reason.
    var deletions: [String: Int] {
        let purged = unrecorded.compactMap { unrecorded($0).reason }
        let reasons = purged + dropped.map { $0.reason ?? $0.finding.rawValue }
        return Dictionary(reasons.map { ($0, 1) }, uniquingKeysWith: +)
    }

    /// The number of registrations of hub and ledger.
    var total: Int { ids.count + dropped.count { $0.finding == .missing } }

    /// Whether anything in the hub's list is known, valid or about to be deleted, so that it is the list of this
    /// gateway's hub.
    var hasRecognized: Bool {
        ids.isEmpty || counts["equal"] ?? 0 > 0 || counts["in-progress"] ?? 0 > 0 || !unrecorded.isEmpty
            || !dropped.isEmpty
    }

    /// All differences, in the order of the hub's list.
    var all: [HubDifference] { unrecorded.map(unrecorded(_:)) + dropped + skipped }

    /// The number of registrations that one transaction compares.
    private static let batch = 200

    /// Compares the hub's registrations with the ledger. Those of platforms that another upstream serves are skipped.
    ///
    /// - Parameter deletions: The deletions that are requested, or would be.
    init(
        of lines: [RegistrationImport.Line], at hub: HubRegistrations, from ledger: StoredLedger,
        _ deletions: DeletedKinds
    ) async throws(LedgerUnavailable) {
        var unrecorded: [RegistrationImport.Line] = []
        var rest = lines[...]
        while !rest.isEmpty {
            let batch = rest.prefix(Self.batch)
            rest = rest.dropFirst(Self.batch)
            let comparisons = try await ledger.compare(batch.compactMap(\.comparison))
            var next = comparisons.makeIterator()
            for line in batch {
                if let id = line.id { ids.insert(id) }
                guard line.id != nil, let comparison = next.next() else {
                    skipped.append(HubDifference(line, .unrecorded, reason: line.reason))
                    continue
                }
                if let service = line.handle?.service, !hub.services.contains(service) {
                    skipped.append(HubDifference(line, .unrecorded, reason: "other-backend"))
                    continue
                }
                switch comparison {
                case .equal: counts["equal", default: 0] += 1
                case .inProgress: counts["in-progress", default: 0] += 1
                case .otherOwner: addDiffering(line, reason: "other-user", deletions)
                case .otherHandle: addDiffering(line, reason: "other-handle", deletions)
                case .unrecorded(let bound):
                    unrecorded.append(line)
                    superseded[line.number] = bound
                }
            }
        }
        // A device that the gateway has registered receives for its user only: the others are not one choice of several.
        let anew = unrecorded.filter { superseded[$0.number].map(ids.contains) ?? false }
        let others = unrecorded.filter { !(superseded[$0.number].map(ids.contains) ?? false) }
        for line in (anew + RegistrationImport(others).lines).sorted(by: { $0.number < $1.number }) {
            // If the hub lacks the registration that the ledger has for the device, this one may be the device's present
            // one. It is bound by the next run, when the other is no longer in the ledger.
            let isOnly = superseded[line.number].map { !ids.contains($0) } ?? false
            if line.entry(deletions) == nil || (isOnly && line.reason == nil) {
                skipped.append(self.unrecorded(line))
            } else {
                self.unrecorded.append(line)
            }
        }
    }

    private mutating func addDiffering(
        _ line: RegistrationImport.Line, reason: String, _ deletions: DeletedKinds
    ) {
        let difference = HubDifference(line, .differing, reason: line.reason ?? reason)
        if case .rejected(let fault) = line.assessment, !deletions.includes(fault) {
            skipped.append(difference)
        } else {
            dropped.append(difference)
        }
    }

    /// Adds the live registrations of the ledger that the hub should have and does not, and that no device has renewed
    /// since.
    mutating func addMissing(
        in ledger: StoredLedger, at hub: HubRegistrations, notSeenSince start: WallTime
    ) async throws(LedgerUnavailable) {
        var last: RegistrationID?
        var isLastPage = false
        while !isLastPage {
            let page = try await ledger.allRegistrations(after: last, limit: 1000)
            for registration in page
            where registration.state == .live && registration.lastSeen < start
                && !ids.contains(registration.id) && hub.has(registration)
            {
                dropped.append(HubDifference(registration))
            }
            isLastPage = page.count < 1000
            last = page.last?.id
        }
    }
}

extension HubRegistrations {
    /// Returns whether the registration was made at this hub, as far as the ledger knows.
    fileprivate func has(_ registration: OwnedRegistration) -> Bool {
        registration.upstream.map { $0 == name } ?? registration.service.map(services.contains) ?? false
    }
}
