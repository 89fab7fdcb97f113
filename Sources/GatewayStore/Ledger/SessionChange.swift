internal import GatewayCore
internal import GatewaySupport

/// A change of sessions or revocations that a node of a shared store has committed, as the other nodes apply it to their
/// memory.
struct SessionChange: Sendable {
    /// The effect of a change.
    enum Effect: Sendable {
        /// The session is now as given; nil if it has ended. The state is that at the time of reading, so applying a change
        /// twice, or an older one after a newer one, has no effect.
        case session(SessionID, Session?)
        /// One token is revoked until it expires.
        case tokenRevoked(String, of: UserName, until: WallTime)
        /// All access of a user was revoked at the time.
        case userRevoked(UserName, at: WallTime)
        /// A login has ended at its identity provider.
        case loggedOut(ProviderLogout)
        /// The store was completed after a restore: what nodes have in memory is not true any more.
        case restored
    }

    /// The kind of a change in the table `change`. A logout of an identity provider has one row for each target.
    enum Kind: String {
        case session
        case token
        case user
        case providerSession = "provider-session"
        case providerSubject = "provider-subject"
        case providerSubjectWithoutSession = "provider-subject-without-session"
        case restored
    }

    let position: ChangePosition
    /// Whether this node has committed it.
    let isOwn: Bool
    let effect: Effect
}

/// A change in the order of the commits.
struct ChangePosition: Sendable, Hashable {
    /// The number; 0 before the first change.
    let number: Int64
    /// The time of the change on the database's clock, in microseconds. It tells the change from one with the same number
    /// in an older copy of the store that has gone another way.
    let recorded: Int64

    /// The position before the first change.
    static let none = ChangePosition(number: 0, recorded: 0)
}

/// The changes of the other nodes of a shared store. ``SessionRegister`` uses it.
protocol SessionFeed: Sendable {
    /// The number of the last change that has effect in memory. Costs one atomic load.
    var applied: Int64 { get }

    /// Begins to follow the changes after this one, on a thread of the feed. Called once.
    ///
    /// - Parameter apply: Receives the changes in order.
    func follow(after position: ChangePosition, apply: @escaping @Sendable ([SessionChange]) -> Void)

    /// Waits until all changes that were committed before the call have effect in memory.
    ///
    /// - Returns: False if the store cannot be read now.
    func refresh() async -> Bool

    /// Waits until the change has effect at every node, or until a node that has not applied it rejects all credentials
    /// because it could not read the changes for too long.
    ///
    /// - Returns: False if this node can never use the store again: the change may be lost with an older copy.
    func waitUntilApplied(_ number: Int64) async -> Bool
}

/// Statements on changes for other nodes. Without other nodes they do nothing.
extension LedgerTables {
    /// Stores that a session has begun, was renewed or has ended.
    func announce(_ id: SessionID, of user: UserName) throws {
        try announce(.session, user: user.text, subject: id.text)
    }

    /// Stores a change for the other nodes.
    func announce(
        _ kind: SessionChange.Kind, user: String? = nil, subject: String? = nil, issuer: String? = nil,
        time: WallTime? = nil
    ) throws {
        guard let node else { return }
        try execute(
            sql: """
                INSERT INTO change (node, kind, "user", subject, issuer, time) VALUES (?, ?, ?, ?, ?, ?)
                """,
            arguments: [node, kind.rawValue, user, subject, issuer, time?.microseconds])
    }

    /// Returns the number of the last change for other nodes; 0 if there was none yet.
    func lastChange() throws -> Int64 { try integer(sql: "SELECT max(number) FROM change") ?? 0 }

    /// Returns the last change for other nodes.
    func lastPosition() throws -> ChangePosition {
        let row = try firstRow(sql: "SELECT number, recorded FROM change ORDER BY number DESC LIMIT 1")
        return try row.map { try ChangePosition(row: $0) } ?? .none
    }

    /// Returns whether there is a change after this one that may end access of the user: a revocation, a logout, or the end
    /// of a session. One of this node counts too, because an earlier reading may have put a session that this node has ended
    /// back into its memory.
    ///
    /// - Parameter includesSessions: Whether the end of a single session counts. False for the beginning of another one.
    func hasChange(of user: UserName, after number: Int64, includesSessions: Bool) throws -> Bool {
        try firstRow(
            sql: """
                SELECT 1 AS found FROM change WHERE number > ? AND ("user" = ? OR "user" IS NULL) AND (
                    kind <> 'session'
                    OR (? = 1 AND NOT EXISTS (SELECT 1 FROM session WHERE session.id = change.subject))) LIMIT 1
                """,
            arguments: [number, user.text, includesSessions ? 1 : 0]) != nil
    }

    /// Returns at most `limit` changes after this one, in order; nil if the store does not have this one, as an older copy of
    /// the store that it was read from.
    func changes(after position: ChangePosition, limit: Int) throws -> [SessionChange]? {
        var changes: [SessionChange] = []
        var isKnown = position == .none
        try forEachRow(
            sql: """
                SELECT change.number, change.recorded, change.node, change.kind, change."user" AS change_user,
                    change.subject, change.issuer AS change_issuer, change.time, session.*
                FROM change LEFT JOIN session
                    ON change.kind = 'session' AND session.id = change.subject AND change.number > ?
                WHERE change.number >= ? ORDER BY change.number LIMIT ?
                """,
            arguments: [position.number, position.number, limit + 1]
        ) { row in
            if try ChangePosition(row: row) == position {
                isKnown = true
            } else {
                changes.append(try SessionChange(row: row, node: node))
            }
        }
        return isKnown ? changes : nil
    }
}

extension ChangePosition {
    fileprivate init(row: SQLRow) throws {
        number = try row.required("number", as: Int64.self)
        recorded = try row.required("recorded", as: Int64.self)
    }
}

extension SessionChange {
    /// Decodes a row. Throws on values that no version of the program writes.
    fileprivate init(row: SQLRow, node: String?) throws {
        position = try ChangePosition(row: row)
        isOwn = try row.required("node", as: String.self) == node
        guard let kind = Kind(rawValue: try row.required("kind", as: String.self)) else {
            throw LedgerUnavailable("the store contains a change of an unknown kind")
        }
        func user() throws -> UserName {
            guard let user = UserName(canonical: try row.required("change_user", as: String.self)) else {
                throw LedgerUnavailable("the store contains an invalid user name")
            }
            return user
        }
        func logout(_ target: ProviderLogout.Target) throws -> Effect {
            .loggedOut(
                ProviderLogout(
                    issuer: try row.required("change_issuer", as: String.self), targets: [target],
                    issued: try row.time("time")))
        }
        let subject = { () throws -> String in try row.required("subject", as: String.self) }
        switch kind {
        case .session:
            guard let id = SessionID(try subject()) else {
                throw LedgerUnavailable("the store contains an invalid session")
            }
            effect = .session(id, try row.optional("id", as: String.self) == nil ? nil : Session(row: row))
        case .token: effect = .tokenRevoked(try subject(), of: try user(), until: try row.time("time"))
        case .user: effect = .userRevoked(try user(), at: try row.time("time"))
        case .providerSession: effect = try logout(.session(try subject()))
        case .providerSubject: effect = try logout(.subject(try subject()))
        case .providerSubjectWithoutSession: effect = try logout(.subjectWithoutSession(try subject()))
        case .restored: effect = .restored
        }
    }
}
