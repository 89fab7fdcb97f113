internal import GatewayCore
internal import Synchronization

/// Limits on the calls in flight of each user and each client address. They keep a slow backend from exhausting the
/// capacity for everyone.
///
/// A rate limit bounds how often a caller calls, but not how long a call takes. If the backend takes a minute for each
/// call, a few callers within their rates could use up the in-flight limit.
///
/// Shared by all event loops without a lock and without memory for each key (a count-min sketch). Each key increments
/// two cells, one in each of two fixed rows, chosen by its hash, which is seeded randomly for each process. The lower
/// of the two counts is an upper bound of the key's calls. The limit is exact for a key that shares at most one of its
/// cells. A key is rejected too early only if it shares both cells with keys that have many calls in flight: with ten
/// such keys, this affects one key in 160,000.
public final class CallerConcurrencyLimit: Sendable {
    /// The maximum numbers of concurrent calls.
    public struct Bounds: Sendable, Hashable {
        /// The calls of one user that need the backend.
        public var perUser: Int
        /// The calls of one client address (for IPv6: of one /64), of any kind. Unix sockets and trusted proxies are
        /// exempt.
        public var perAddress: Int

        /// Creates bounds; the arguments' defaults are the defaults of the configuration.
        public init(perUser: Int = 64, perAddress: Int = 512) {
            self.perUser = perUser
            self.perAddress = perAddress
        }
    }

    /// The permits that one call holds, to be released by `release(_:)`.
    struct Permits: Sendable {
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

    /// The names of the limits in rejections and metrics.
    static let names = ["in-flight-user", "in-flight-address"]

    private static let cellsInRow = 4096
    private let users = makeRows()
    private let addresses = makeRows()

    /// Creates a limit with no calls in flight.
    public init() {}

    /// Acquires a permit for a call of a client address.
    ///
    /// - Throws: `rate-limited` if the address has too many calls in flight.
    func acquire(_ address: Peer.Address, _ bounds: Bounds, _ permits: inout Permits) throws(Rejection) {
        guard let cells = Self.acquire(address, in: addresses, atMost: bounds.perAddress) else {
            throw Self.rejection(Self.names[1])
        }
        permits.address = cells
    }

    /// Acquires a permit for a call of a user.
    ///
    /// - Throws: `rate-limited` if the user has too many calls in flight.
    func acquire(_ user: UserName, _ bounds: Bounds, _ permits: inout Permits) throws(Rejection) {
        guard let cells = Self.acquire(user, in: users, atMost: bounds.perUser) else {
            throw Self.rejection(Self.names[0])
        }
        permits.user = cells
    }

    /// Releases the permits of a call.
    func release(_ permits: Permits) {
        if let cells = permits.user { Self.release(cells, users) }
        if let cells = permits.address { Self.release(cells, addresses) }
    }

    private static func acquire(_ key: some Hashable, in rows: [Cell], atMost most: Int) -> Cells? {
        let hash = key.hashValue
        let cells = Cells(first: hash & (cellsInRow - 1), second: cellsInRow + (hash >> 12 & (cellsInRow - 1)))
        let first = rows[cells.first].count.add(1, ordering: .relaxed).newValue
        let second = rows[cells.second].count.add(1, ordering: .relaxed).newValue
        if min(first, second) <= most { return cells }
        release(cells, rows)
        return nil
    }

    private static func release(_ cells: Cells, _ rows: [Cell]) {
        rows[cells.first].count.subtract(1, ordering: .relaxed)
        rows[cells.second].count.subtract(1, ordering: .relaxed)
    }

    private static func makeRows() -> [Cell] { (0..<cellsInRow * 2).map { _ in Cell() } }

    private static func rejection(_ name: String) -> Rejection {
        Rejection(.rateLimited, "limit \(name)", extra: .limit(name: name, retryAfterSeconds: 1))
    }
}
