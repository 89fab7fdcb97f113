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
    let platform: PushService?
    /// The owner according to the hub's tags, or to the ledger if the hub does not have the registration.
    let user: UserName?
    let finding: Finding
    let reason: String?

    init(_ line: RegistrationImport.Line, _ finding: Finding, reason: String?) {
        id = line.id
        platform = line.handle?.service
        if case .valid(let owner) = line.assessment { user = owner } else { user = nil }
        self.finding = finding
        self.reason = reason
    }

    /// A registration that only the ledger has.
    init(_ registration: OwnedRegistration) {
        id = registration.id
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
    /// The numbers of those whose handle the ledger has under another id.
    var superseded: Set<Int> = []
    /// The registrations to delete: at the hub if it has them, and in the ledger.
    var dropped: [HubDifference] = []
    /// The registrations that are not the gateway's business, such as templates.
    var skipped: [HubDifference] = []
    /// The numbers of results.
    var counts: [String: Int] = [:]

    static let countNames = ["equal", "bound", "purged", "dropped", "unchanged", "skipped", "in-progress", "listed"]

    func unrecorded(_ line: RegistrationImport.Line) -> HubDifference {
        let reason = line.reason ?? (superseded.contains(line.number) ? "registered-anew" : nil)
        return HubDifference(line, .unrecorded, reason: reason)
    }

    /// All differences, in the order of the hub's list.
    var all: [HubDifference] { unrecorded.map(unrecorded(_:)) + dropped + skipped }

    /// The number of registrations that one transaction compares.
    private static let batch = 200

    /// Compares the hub's registrations with the ledger. Those of platforms that another upstream serves are skipped.
    init(
        of lines: [RegistrationImport.Line], at hub: HubRegistrations, from ledger: StoredLedger
    ) async throws(LedgerUnavailable) {
        var unrecorded: [RegistrationImport.Line] = []
        var rest = lines[...]
        while !rest.isEmpty {
            let batch = rest.prefix(Self.batch)
            rest = rest.dropFirst(Self.batch)
            let entries = batch.compactMap(\.entry)
            let comparisons = try await ledger.compare(entries)
            var next = comparisons.makeIterator()
            for line in batch {
                if let id = line.id { ids.insert(id) }
                guard line.entry != nil, let comparison = next.next() else {
                    skipped.append(HubDifference(line, .unrecorded, reason: line.reason))
                    counts["skipped", default: 0] += 1
                    continue
                }
                if let service = line.handle?.service, !hub.services.contains(service) {
                    skipped.append(HubDifference(line, .unrecorded, reason: "other-backend"))
                    counts["skipped", default: 0] += 1
                    continue
                }
                switch comparison {
                case .equal: counts["equal", default: 0] += 1
                case .inProgress: counts["in-progress", default: 0] += 1
                case .otherOwner:
                    dropped.append(HubDifference(line, .differing, reason: line.reason ?? "other-user"))
                case .otherHandle:
                    dropped.append(HubDifference(line, .differing, reason: line.reason ?? "other-handle"))
                case .unrecorded(let handleIsBound):
                    unrecorded.append(line)
                    if handleIsBound { superseded.insert(line.number) }
                }
            }
        }
        self.unrecorded = RegistrationImport(unrecorded).lines
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
