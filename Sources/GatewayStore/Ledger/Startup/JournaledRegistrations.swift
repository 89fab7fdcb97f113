public import GatewayCore
public import GatewaySupport

/// The registrations and revocations that the journal recorded since a time. They bring a ledger that was restored from
/// a backup up to date.
public struct JournaledRegistrations: Sendable {
    /// The last change of a registration.
    enum LastChange: Sendable, Hashable {
        /// The backend has the registration for this user.
        case registered(UserName)
        /// The backend no longer has the registration, or was asked to delete it.
        case deleted
    }

    private(set) var changes: [RegistrationID: (last: LastChange, at: WallTime)] = [:]
    /// The users whose sessions, tokens and registrations were all revoked, with the time.
    private(set) var revoked: [UserName: WallTime] = [:]

    /// Creates an empty collection.
    public init() {}

    /// Reads the segments that changed since the time. Blocks; called at startup with a restored ledger.
    public init(directory: String, since: WallTime) throws(JournalUnavailable) {
        let files = SystemFileSystem()
        do throws(FileFailure) {
            let segments = JournalSegmentName.segments(among: try files.fileNames(in: directory))
            for (index, segment) in segments.enumerated() {
                let path = directory + "/" + segment.text
                guard try files.modificationTime(of: path) >= since else { continue }
                // Skip the lines of a failed write at the end of a segment: the next segment reuses their numbers.
                let end = index + 1 < segments.count ? segments[index + 1].first : nil
                var order = LineOrder(from: segment.first, before: end)
                for line in order.lines(in: try files.read(path)).lazy.map(JournalLineReader.init(bytes:)) {
                    if let at = line.time, at >= since { add(line, at) }
                }
            }
        } catch {
            throw JournalUnavailable(error.description)
        }
    }

    private mutating func add(_ line: JournalLineReader, _ at: WallTime) {
        guard let action = line.text("action").flatMap(Action.init), let kind = line.kind else { return }
        let user = line.text("user").flatMap { UserName(canonical: $0) }
        switch (kind, action) {
        case (.outcome, .registerUpdate), (.outcome, .ownershipTransfer):
            guard let user, let id = line.text("registration").flatMap(RegistrationID.init),
                line.text("result").flatMap(CallResult.init)?.mayHaveActed == true
            else { return }
            changes[id] = (.registered(user), at)
        case (.outcome, .registerDelete):
            if let id = line.text("registration").flatMap(RegistrationID.init) { changes[id] = (.deleted, at) }
        case (.operator, .operatorRevoke):
            // A record with a target or a session revokes only that one.
            guard let user, line.text("target") == nil, line.text("session") == nil else { return }
            // A lost group revokes tokens, not registrations.
            if line.text("result") == "groups-lost" { return }
            revoked[user] = at
        default:
            break
        }
    }
}

extension CallResult {
    /// Whether the backend may have the registration after this result.
    fileprivate var mayHaveActed: Bool {
        switch self {
        case .accepted, .adopted, .healed, .revoked, .backendFailed, .backendTimedOut, .ledgerFailed, .unknownAtStop,
            .unknownAfterCrash, .ledgerUnavailable:
            true
        case .notIssued, .neutralised, .deleteUnconfirmed, .backendUnreachable, .overloaded, .textsUnavailable: false
        }
    }
}
