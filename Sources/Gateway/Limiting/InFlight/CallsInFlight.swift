public import GatewayCore
internal import Synchronization

/// The calls in flight of each user and each client address, bounded, so that a slow backend is no reason to refuse everybody.
///
/// Rates bound how often a caller comes; they say nothing of how long a call stays. Where the backend takes a minute for each call, a
/// few callers within their rates would hold every place that there is.
///
/// Shared by all loops, without a lock and without memory for a key: each key counts in two of a fixed number of cells, which its
/// hash chooses (the seed is random, and of this process), and has as many calls in flight as the lower of the two says at most.
/// The bound is exact for a key that shares no cell. A key is refused early only where both cells are shared with keys that have
/// many calls in flight: one in 160,000 for ten such keys.
public final class CallsInFlight: Sendable {
    /// How many calls there may be at a time.
    public struct Bounds: Sendable, Hashable {
        /// Of one user, as far as they are for the backend.
        public var perUser: Int
        /// Of one client address (IPv6: one /64), of whatever kind. Unix sockets are exempt, and so are listed proxies.
        public var perAddress: Int

        /// Bounds; those of the product unless given.
        public init(perUser: Int = 64, perAddress: Int = 512) {
            self.perUser = perUser
            self.perAddress = perAddress
        }
    }

    /// The places that one call takes; to be given back by `leave(_:)`.
    struct Places: Sendable {
        fileprivate var user: Cells?
        fileprivate var address: Cells?
    }

    fileprivate struct Cells: Sendable {
        let first: Int
        let second: Int
    }

    private final class Cell: Sendable {
        let count = Atomic(0)
    }

    /// The names of the bounds, as refusals and metrics have them.
    static let names = ["in-flight-user", "in-flight-address"]

    private static let cellsInRow = 4096
    private let users = makeRows()
    private let addresses = makeRows()

    /// No calls in flight.
    public init() {}

    /// Takes a place for a call of a client address.
    ///
    /// - Throws: `rate-limited` if the address has as many calls in flight as it may have.
    func enter(_ address: Peer.Address, _ bounds: Bounds, _ places: inout Places) throws(Refusal) {
        guard let cells = Self.enter(address, in: addresses, atMost: bounds.perAddress) else {
            throw Self.refusal(Self.names[1])
        }
        places.address = cells
    }

    /// Takes a place for a call of a user.
    ///
    /// - Throws: `rate-limited` if the user has as many calls in flight as a user may have.
    func enter(_ user: UserName, _ bounds: Bounds, _ places: inout Places) throws(Refusal) {
        guard let cells = Self.enter(user, in: users, atMost: bounds.perUser) else {
            throw Self.refusal(Self.names[0])
        }
        places.user = cells
    }

    /// Gives the places of a call back.
    func leave(_ places: Places) {
        if let cells = places.user { Self.leave(cells, users) }
        if let cells = places.address { Self.leave(cells, addresses) }
    }

    private static func enter(_ key: some Hashable, in rows: [Cell], atMost most: Int) -> Cells? {
        let hash = key.hashValue
        let cells = Cells(first: hash & (cellsInRow - 1), second: cellsInRow + (hash >> 12 & (cellsInRow - 1)))
        let first = rows[cells.first].count.add(1, ordering: .relaxed).newValue
        let second = rows[cells.second].count.add(1, ordering: .relaxed).newValue
        if min(first, second) <= most { return cells }
        leave(cells, rows)
        return nil
    }

    private static func leave(_ cells: Cells, _ rows: [Cell]) {
        rows[cells.first].count.subtract(1, ordering: .relaxed)
        rows[cells.second].count.subtract(1, ordering: .relaxed)
    }

    private static func makeRows() -> [Cell] { (0..<cellsInRow * 2).map { _ in Cell() } }

    private static func refusal(_ name: String) -> Refusal {
        Refusal(.rateLimited, "limit \(name)", extra: .limit(name: name, retryAfterSeconds: 1))
    }
}
