public import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The changes of other nodes of a shared store.
extension SessionRegister {
    /// Follows the changes after this one, if the store is shared.
    func follow(after position: ChangePosition) {
        ledger.storage.feed?.follow(after: position) { [weak self] changes in self?.apply(changes) }
    }

    /// Has other state about a user cleared, such as cached passwords, when another gateway has revoked the user.
    public func clearAfterRevocationElsewhere(_ clear: @escaping @Sendable (UserName) -> Void) {
        onRevocationElsewhere.withLock { $0 = clear }
    }

    /// Returns whether the token's session may have begun at another gateway so recently that it is not known here.
    ///
    /// Only tokens of the last minutes may, so that tokens of ended sessions do not keep the store busy.
    public func mayHaveBegunElsewhere(_ token: TokenReference) -> Bool {
        guard ledger.storage.feed != nil, let id = token.session else { return false }
        let oldest = clocks.wall().adding(-Self.recentTokens)
        return token.issued > oldest && table.withLock { $0.session(id) == nil }
    }

    /// Reads what other gateways have changed until now. Returns false if the store cannot be read.
    public func refresh() async -> Bool { await ledger.storage.feed?.refresh() ?? true }

    /// The age of a token up to which its session may be unknown, in microseconds: longer than a node goes on without reading
    /// the changes of others, and than clocks differ.
    private static let recentTokens: Int64 = 300_000_000

    /// Waits until a change of this node has effect at every node that accepts credentials.
    ///
    /// - Throws: If this node can never use the store again, so that the change may be lost.
    func waitUntilApplied(_ change: Int64) async throws(LedgerUnavailable) {
        guard let feed = ledger.storage.feed, await !feed.waitUntilApplied(change) else { return }
        throw LedgerUnavailable(ledger.lossReason ?? "the store is closed")
    }

    /// Applies changes of all nodes to the memory.
    ///
    /// A revocation by this node is in memory already. Its sessions are set again in the order of all changes:
    /// a revocation may have removed one that began after it, and an earlier reading may have added one that it ended.
    ///
    /// A revocation by a node whose clock is behind counts up to the present time of this one.
    private func apply(_ changes: [SessionChange]) {
        let closed = unwritten.withLock(\.sessions)
        let present = revocationTime
        let ended = table.withLock { table in
            var ended: [Session] = []
            for change in changes {
                switch change.effect {
                case .session(let id, let session):
                    // A session that this node has closed in memory stays closed while the write is repeated.
                    if closed[id] == nil { table.replace(id, by: session) }
                case .tokenRevoked(let token, let user, let until):
                    table.revoke(token: token, of: user, until: until)
                case .userRevoked(let user, _) where change.isOwn: table.closeSessions(of: user)
                case .userRevoked(let user, let time): table.revoke(user, at: max(time, present))
                case .loggedOut(let logout) where change.isOwn: ended += table.closeSessions(endedBy: logout)
                case .loggedOut(let logout): ended += table.logOut(logout)
                case .restored: break
                }
            }
            revocations.store(table.epoch.count, ordering: .releasing)
            if let last = changes.last { applied.store(last.position.number, ordering: .relaxed) }
            return ended
        }
        if !ended.isEmpty { removeRows(of: ended) }
        let clear = onRevocationElsewhere.withLock(\.self)
        for case .userRevoked(let user, _) in changes.filter({ !$0.isOwn }).map(\.effect) { clear(user) }
    }

    /// Removes the rows of sessions that a logout has ended and that the gateway with the logout did not know yet.
    private func removeRows(of sessions: [Session]) {
        var close = UnwrittenChanges()
        for session in sessions { close.sessions[session.id] = session.user }
        unwritten.withLock { $0 = $0.adding(close) }
        // `removeExpired` retries a failed removal.
        Task { [close] in try? await write(close) }
    }
}
