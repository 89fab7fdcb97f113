public import GatewayCore

/// The changes of registrations and the revocations of users in the journal since a time. They update a ledger that was
/// restored from a copy.
public struct JournaledRegistrations: Sendable {
    /// The last change of a registration.
    enum LastChange: Sendable, Hashable {
        /// The backend has the registration for this user.
        case registered(UserName)
        /// The backend no longer has the registration, or was asked to delete it.
        case deleted
    }

    private(set) var changes: [RegistrationID: LastChange] = [:]
    /// The users whose grants were all revoked, with the time.
    private(set) var revoked: [UserName: WallTime] = [:]

    /// Creates an empty collection.
    public init() {}

    /// Reads the segments of a journal that changed since the time. Blocks; called at the start with a restored ledger.
    public init(directory: String, since: WallTime) throws(JournalUnavailable) {
        let files = SystemFileSystem()
        do throws(FileFailure) {
            let segments = try files.names(in: directory).compactMap { JournalSegmentName($0) }.sorted()
            for (index, segment) in segments.enumerated() {
                let path = directory + "/" + segment.text
                guard try files.modified(path) >= since else { continue }
                // A failed batch in a sealed segment is void: the next segment reuses its numbers.
                let end = index + 1 < segments.count ? segments[index + 1].first : .max
                for line in try files.read(path).split(separator: UInt8(ascii: "\n")) {
                    let line = JournalLineReader(bytes: line)
                    guard let number = line.sequence, number < end, let at = line.time, at >= since else { continue }
                    add(line, at)
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
            changes[id] = .registered(user)
        case (.outcome, .registerDelete):
            if let id = line.text("registration").flatMap(RegistrationID.init) { changes[id] = .deleted }
        case (.operator, .operatorRevoke):
            // The record revokes a single session or token.
            guard let user, line.text("target") == nil, line.text("session") == nil else { return }
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
        case .notIssued, .neutralised, .deleteUnconfirmed, .backendUnreachable, .overloaded: false
        }
    }
}
