internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The right of one gateway to use a store in PostgreSQL, in the store's table `node`.
///
/// A gateway takes the right at its start, renews it in its transactions, and gives it up when it closes the store. Each
/// of its transactions checks the fence number, so after another gateway has taken its place it can change nothing, even
/// if it was frozen in between. It also knows by its own clock when its right may have ended, because sends do not ask
/// the store.
///
/// Safe to use from any thread.
final class StoreNode: Sendable {
    /// How long the right lasts without a renewal, on the database's clock, in microseconds.
    static let duration: Int64 = 15_000_000
    /// How long the gateway relies on its last renewal, on its own clock: shorter than `duration`, because the two clocks
    /// differ in speed, and calls that began before the end still run.
    static let reliance = Duration.seconds(10)
    /// The time between two renewals, on the gateway's clock.
    static let renewalPeriod = Duration.seconds(3)

    /// The error that another gateway has taken the place of this one.
    struct Lost: Error {}

    /// The result of an attempt to take the right.
    enum Acquisition {
        /// The gateway has the right, with this fence number.
        case acquired(fence: Int64)
        /// The gateway on another machine, or of another installation on this one, has it.
        case heldBy(host: String)
    }

    /// The random name of this installation, which stays the same over restarts.
    let instance: String
    private let host: String
    /// The version of the program, for the list of nodes.
    private let program: String
    let clocks: Clocks
    private let fence = Atomic<Int64>(0)
    /// The time on the monotonic clock at which the last successful renewal began, in nanoseconds.
    private let renewed = Atomic<Int64>(.min / 2)
    private let lost = Atomic(false)

    /// Creates a right that `acquire` has yet to take.
    ///
    /// - Parameter host: The name of this machine, for messages.
    init(instance: String, host: String, program: String, clocks: Clocks) {
        self.instance = instance
        self.host = host
        self.program = program
        self.clocks = clocks
    }

    /// The fence number of this run: larger than that of all earlier runs of the installation.
    var fenceNumber: Int64 { fence.load(ordering: .relaxed) }

    /// Whether no other gateway can have taken the place of this one. Costs two atomic loads and a look at the clock.
    var isValid: Bool {
        !isLost && elapsed < Self.nanoseconds(Self.reliance)
    }

    /// Whether another gateway has taken the place of this one, or this one has given up its right.
    var isLost: Bool { lost.load(ordering: .relaxed) }

    private var elapsed: Int64 { clocks.monotonic().nanoseconds - renewed.load(ordering: .relaxed) }

    /// Takes the right if no other gateway has it. Gateways whose right has ended lose it for good: what they still try
    /// to change is refused. Writes nothing if another gateway has it.
    func acquire(_ transaction: some SQLTransaction) throws -> Acquisition {
        let began = clocks.monotonic().nanoseconds
        let other = try transaction.firstRow(
            sql: "SELECT host FROM node WHERE instance <> ? AND until > \(Self.now)", arguments: [instance])
        if let other { return .heldBy(host: try other.required("host", as: String.self)) }
        try transaction.execute(sql: "UPDATE node SET fence = fence + 1 WHERE instance <> ?", arguments: [instance])
        let row = try transaction.firstRow(
            sql: """
                INSERT INTO node (instance, host, program, fence, started, until, is_exclusive, applied)
                VALUES (?, ?, ?, 1, \(Self.now), \(Self.now) + ?, TRUE, 0)
                ON CONFLICT (instance) DO UPDATE SET host = excluded.host, program = excluded.program,
                    fence = node.fence + 1, started = excluded.started, until = excluded.until,
                    is_exclusive = excluded.is_exclusive, applied = excluded.applied, accounts = NULL
                RETURNING fence
                """,
            arguments: [instance, host, program, Self.duration])
        let number = try row?.required("fence", as: Int64.self) ?? 0
        fence.store(number, ordering: .relaxed)
        renewed.store(began, ordering: .relaxed)
        return .acquired(fence: number)
    }

    /// Checks within a transaction that no other gateway has taken the place of this one, and keeps others from doing so
    /// until the transaction ends.
    ///
    /// - Throws: `Lost` if another gateway has.
    func check(_ transaction: some SQLTransaction) throws {
        let row = try transaction.firstRow(
            sql: "SELECT fence FROM node WHERE instance = ? FOR SHARE", arguments: [instance])
        guard try row?.required("fence", as: Int64.self) == fence.load(ordering: .relaxed) else {
            lost.store(true, ordering: .relaxed)
            throw Lost()
        }
    }

    /// Renews the right within a transaction if the last renewal was some seconds ago.
    ///
    /// - Returns: What to do once the transaction is committed; nil if the right was not renewed.
    func renew(_ transaction: some SQLTransaction) throws -> (@Sendable () -> Void)? {
        guard elapsed > Self.nanoseconds(Self.renewalPeriod) else { return nil }
        let began = clocks.monotonic().nanoseconds
        try transaction.execute(
            sql: "UPDATE node SET until = \(Self.now) + ? WHERE instance = ? AND fence = ?",
            arguments: [Self.duration, instance, fence.load(ordering: .relaxed)])
        return { [self] in renewed.store(began, ordering: .relaxed) }
    }

    /// Gives up the right, so that another gateway can start at once.
    ///
    /// - Returns: The fence number of the closed store, which is larger than that of any copy made before.
    func release(_ transaction: some SQLTransaction) throws -> Int64 {
        let number = fence.load(ordering: .relaxed)
        try transaction.execute(
            sql: "UPDATE node SET until = 0, fence = fence + 1 WHERE instance = ? AND fence = ?",
            arguments: [instance, number])
        lost.store(true, ordering: .relaxed)
        return number + 1
    }

    /// The current time on the database's clock in microseconds, as an expression of SQL.
    static let now = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

    private static func nanoseconds(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000
    }
}
