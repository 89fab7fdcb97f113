internal import GatewaySupport
internal import Logging

/// The limit of open file descriptors of the process.
enum FileDescriptorLimit {
    /// The number that the gateway can need: 10,000 client connections, 256 backend connections, and reserve for the
    /// stores and the admin listener.
    private static let wanted = 10_512

    /// Raises the soft limit to the hard limit, and logs a warning if that is less than the gateway can need. Called at
    /// the start: with the usual soft limit of 1,024, a few hundred client connections prevent connections to the backend and
    /// new journal segments.
    ///
    /// - Returns: The shares of clients and backend.
    static func raise(logger: Logger) -> Shares {
        guard let limit = DescriptorLimit.raise() else { return Shares(of: wanted) }
        let shares = Shares(of: Int(clamping: limit))
        guard limit < wanted else { return shares }
        logger.warning(
            "File descriptor limit is low",
            metadata: ["limit": "\(limit)", "wanted": "\(wanted)"])
        return shares
    }

    /// The distribution of the descriptors. Without a free descriptor, the gateway can neither accept nor reject a
    /// connection, and an admitted call cannot reach the backend.
    struct Shares: Sendable, Hashable {
        /// The maximum number of client connections.
        let clients: Int
        /// The maximum number of backend connections.
        let backend: Int

        /// The descriptors reserved for stores, admin listener (80), control socket (32), event loops and
        /// authenticators.
        private static let others = 176

        init(of limit: Int) {
            let room = max(32, limit - Self.others)
            backend = min(256, room / 3)
            clients = min(10_000, room - backend)
        }
    }
}
