internal import Foundation
internal import Logging

/// How many files and connections the process may have open at once.
enum FileDescriptorLimit {
    /// What the gateway can need: 10,000 connections of clients, 256 of the backend, and room for the stores and for admin.
    private static let wanted: rlim_t = 10_512

    /// Raises the limit as far as the system lets this user, and warns where that is not far enough. Called at the start.
    ///
    /// Systems begin at 1,024 for the sake of programs that use select(2). Left there, a few hundred connections of clients
    /// would keep the gateway from reaching its backend and the journal from its next segment.
    ///
    /// - Returns: how many of them clients and backend may take.
    static func raise(logger: Logger) -> Shares {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return Shares(of: Int(wanted)) }
        if limit.rlim_cur < limit.rlim_max {
            let before = limit
            limit.rlim_cur = limit.rlim_max
            if setrlimit(resource, &limit) != 0 { limit = before }
        }
        let shares = Shares(of: Int(clamping: limit.rlim_cur))
        guard limit.rlim_cur < wanted else { return shares }
        logger.warning(
            "File descriptor limit is low",
            metadata: ["limit": "\(limit.rlim_cur)", "wanted": "\(wanted)"])
        return shares
    }

    /// Who may have how many, so that none is wanting where it matters: without one a connection can be neither taken nor refused,
    /// and a call that was taken in does not reach the backend.
    struct Shares: Sendable, Hashable {
        /// Connections of clients.
        let clients: Int
        /// Connections to the backend.
        let backend: Int

        /// For stores, admin, the control socket, event loops and what authenticators have open.
        private static let others = 96

        init(of limit: Int) {
            let room = max(32, limit - Self.others)
            backend = min(256, room / 3)
            clients = min(10_000, room - backend)
        }
    }
}
