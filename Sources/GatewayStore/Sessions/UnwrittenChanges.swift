internal import GatewayCore
internal import GatewaySupport

/// Closed sessions and revoked tokens whose rows are not written yet.
struct UnwrittenChanges: Sendable {
    struct Token: Hashable {
        let user: UserName
        let id: String
    }

    /// The closed sessions, each with its user.
    var sessions: [SessionID: UserName] = [:]
    /// The revoked tokens, each with the end of its revocation.
    var tokens: [Token: WallTime] = [:]

    /// The logouts at identity providers.
    var logouts: Set<ProviderLogout> = []

    var isEmpty: Bool { sessions.isEmpty && tokens.isEmpty && logouts.isEmpty }

    /// Returns both. Of two revocations of a token the longer one counts.
    func adding(_ changes: UnwrittenChanges) -> UnwrittenChanges {
        UnwrittenChanges(
            sessions: sessions.merging(changes.sessions) { $1 }, tokens: tokens.merging(changes.tokens) { max($0, $1) },
            logouts: logouts.union(changes.logouts))
    }

    /// Removes changes that are on disk.
    mutating func remove(_ written: UnwrittenChanges) {
        for id in written.sessions.keys { sessions[id] = nil }
        tokens = tokens.filter { written.tokens[$0.key] != $0.value }
        logouts.subtract(written.logouts)
    }
}
