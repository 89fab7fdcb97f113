public import GatewayCore

extension SessionStore {
    /// Adds a session with the usual limit of a user. Returns whether it was added.
    public func start(_ session: Session, since: RevocationEpoch) async throws(LedgerUnavailable) -> Bool {
        try await start(session, since: since, limit: 20) != nil
    }
}
