internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// This installation among the gateways that use a store in PostgreSQL, in the store's table `node`.
///
/// A gateway joins at its start, shows that it is live with each reading of the changes of others (``ChangeFeed``), and
/// leaves when it closes the store. Each of its transactions checks the fence number, so it can change nothing after
/// another process has used its place. It also knows by its own clock when it last read the changes of others, because
/// sends do not ask the store.
///
/// Safe to use from any thread.
final class StoreNode: Sendable {
    /// How long a node counts as live without a sign of life, on the database's clock, in microseconds.
    static let duration: Int64 = 15_000_000
    /// How long a gateway relies on what it last read, on its own clock: shorter than `duration`, because the two clocks
    /// differ in speed, and calls that began before the end still run.
    static let reliance = Duration.seconds(10)
    /// The time between two signs of life of a process that reads no changes, on its own clock.
    static let renewalPeriod = Duration.seconds(3)
    /// The time without a sign of life after which a node must not go on, in microseconds: half an hour, half of the time
    /// for which changes are kept.
    static let maximumGap: Int64 = 1_800_000_000
    /// The distance of the fence numbers of a restored store from those before, so that each gateway that starts after the
    /// first one does not take it for restored again.
    private static let restoreDistance: Int64 = 1_000_000_000
    /// More starts and ends of other gateways than there are between the time when a gateway notices an older copy and its next
    /// start. Less than `restoreDistance`, so that a gateway that has completed the restore meanwhile counts.
    static let startsUntilRestore: Int64 = 1_000_000
    /// The fence numbers that a store and the file of an installation may state: those after them, also of restored stores, fit
    /// into 64 bits.
    static let fences: ClosedRange<Int64> = 0...(1 << 62)

    /// The error that the process can never use the store again.
    struct Lost: Error {
        /// The reason, for operators.
        let reason: String

        static let place = Lost(reason: "another process has taken the place of this gateway in the store")
        static let gap = Lost(reason: "this gateway has not read the store for too long")
        static let olderCopy = Lost(reason: "the store is an older copy of the one that this gateway used")
        static let restored = Lost(reason: "another gateway has completed the store after a restore")
        static let left = Lost(reason: "this gateway has left the store")
    }

    /// The result of an attempt to join.
    enum Acquisition {
        /// The gateway is a node.
        ///
        /// - Parameter olderCopyOf: If the store is an older copy of the one that the installation knows, the last time of the
        ///   installation that the copy has, on the database's clock in microseconds; the largest number if it has none.
        case acquired(olderCopyOf: Int64?)
        /// The process on this machine uses the store alone, or stands in the way of one that wants to.
        case heldBy(host: String)
    }

    /// The random name of this installation, which stays the same over restarts.
    let instance: String
    private let host: String
    /// The version of the program, for the list of nodes.
    private let program: String
    let clocks: Clocks
    /// The commits that the server must not have lost.
    let commits = AcknowledgedCommits()
    /// Stores for the next start that the store is an older copy.
    private let onOlderCopy: @Sendable (_ newestFence: Int64) -> Void
    /// The timeline of the server on which all gateways have found their commits; nil until the first reading.
    private let timeline = Mutex<String?>(nil)
    private let fence = Atomic<Int64>(0)
    /// Whether the process uses the store alone, and reads no changes of others.
    private let isExclusive = Atomic(false)
    /// The time since boot at which the last successful reading or renewal began, in nanoseconds. That clock goes on while
    /// the machine is suspended, as the database's does.
    private let renewed = Atomic<Int64>(.min / 2)
    private let lost = Atomic(false)
    private let loss = Mutex<Lost?>(nil)

    /// Creates a node that has yet to join.
    ///
    /// - Parameters:
    ///   - host: The name of this machine, for messages.
    ///   - onOlderCopy: Called when the store turns out to be an older copy of the one that this node used, with the largest
    ///     fence number in it.
    init(
        instance: String, host: String, program: String, clocks: Clocks,
        onOlderCopy: @escaping @Sendable (_ newestFence: Int64) -> Void = { _ in }
    ) {
        self.onOlderCopy = onOlderCopy
        self.instance = instance
        self.host = host
        self.program = program
        self.clocks = clocks
    }

    /// The fence number of this run: larger than that of all earlier runs of any node.
    var fenceNumber: Int64 { fence.load(ordering: .relaxed) }

    /// Whether the changes of other nodes were read recently enough. Costs two atomic loads and a look at the clock.
    var isValid: Bool { !isLost && elapsed < Self.nanoseconds(Self.reliance) }

    /// Whether the process can never use the store again.
    var isLost: Bool { lost.load(ordering: .acquiring) }

    /// The reason why the process can never use the store again; nil while it can.
    var lossReason: String? { loss.withLock { $0?.reason } }

    private var elapsed: Int64 { clocks.sinceBoot().nanoseconds - renewed.load(ordering: .relaxed) }

    /// Joins the nodes. Writes nothing if a live process uses the store alone.
    ///
    /// - Parameters:
    ///   - isExclusive: Whether the process uses the store alone. Others must have left then, and those that are not live
    ///     lose their place for good: what they still try to change is refused.
    ///   - known: The fence number that the installation knows of its last run. A store with a smaller one is an older copy.
    func acquire(_ transaction: some SQLTransaction, isExclusive: Bool, known: Int64) throws -> Acquisition {
        let began = clocks.sinceBoot().nanoseconds
        let others = "instance <> ? AND until > \(Self.now)" + (isExclusive ? "" : " AND is_exclusive")
        if let other = try transaction.firstRow(sql: "SELECT host FROM node WHERE \(others)", arguments: [instance]) {
            return .heldBy(host: try other.required("host", as: String.self))
        }
        if isExclusive { try transaction.execute(sql: "DELETE FROM node WHERE instance <> ?", arguments: [instance]) }
        let lastSign = try lastSign(transaction)
        let last = try Self.newestFence(transaction) ?? 0
        let number = last < known ? known + Self.restoreDistance : last + 1
        try transaction.execute(
            sql: """
                INSERT INTO node (instance, host, program, fence, started, until, is_exclusive, applied, timeline)
                VALUES (?, ?, ?, ?, \(Self.now), \(Self.now) + ?, \(isExclusive), 0, '')
                ON CONFLICT (instance) DO UPDATE SET host = excluded.host, program = excluded.program,
                    fence = excluded.fence, started = excluded.started, until = excluded.until,
                    is_exclusive = excluded.is_exclusive, applied = excluded.applied, accounts = NULL, timeline = ''
                """,
            arguments: [instance, host, program, number, Self.duration])
        try AcknowledgedCommits.reset(transaction, of: instance)
        fence.store(number, ordering: .relaxed)
        self.isExclusive.store(isExclusive, ordering: .relaxed)
        renewed.store(began, ordering: .relaxed)
        return .acquired(olderCopyOf: last < known ? lastSign ?? .max : nil)
    }

    /// Returns the time of the node's last sign of life that the store has, on the database's clock in microseconds; nil if it
    /// has none.
    func lastSign(_ transaction: some SQLTransaction) throws -> Int64? {
        try transaction.integer(sql: "SELECT until FROM node WHERE instance = ?", arguments: [instance])
            .map { $0.subtractingSaturating(Self.duration) }
    }

    /// Checks within a transaction that no other process has used the place of this one, and keeps others from doing so
    /// until the transaction ends. Does not conflict with signs of life of this process: the lock is one on the keys of the
    /// row, to which the fence belongs by the index `node_place`.
    ///
    /// - Throws: `Lost` if another process has.
    func check(_ transaction: some SQLTransaction) throws {
        let row = try transaction.firstRow(
            sql: "SELECT fence FROM node WHERE instance = ? FOR KEY SHARE", arguments: [instance])
        let fence = try row?.required("fence", as: Int64.self)
        if fence == fenceNumber { return }
        // Fence numbers grow, so one that is smaller is that of a store without this gateway's start.
        if try fence ?? Self.newestFence(transaction) ?? 0 < fenceNumber { throw try recordOlderCopy(transaction) }
        throw record(.place)
    }

    /// Checks as ``check(_:)``, and stores the number of the transaction as that of a commit.
    ///
    /// - Parameter timeline: That of the server, as the connection has found it.
    /// - Returns: What to do once the transaction is committed.
    /// - Throws: `Lost` also if the server has lost commits; `LedgerUnavailable` while other gateways have not yet looked
    ///   whether it has lost commits of theirs.
    func begin(
        _ transaction: some SQLTransaction, lane: String, timeline: String
    ) throws -> @Sendable () -> Void {
        if let confirmed = self.timeline.withLock(\.self), confirmed != timeline {
            throw LedgerUnavailable(
                "after a fail-over the gateways have yet to find that the new primary has all of their commits")
        }
        let (number, acknowledged) = commits.begin(lane)
        // An insertion reads nothing in the sense of serializable transactions, so those of other gateways do not conflict.
        let stored = try transaction.execute(
            sql: """
                WITH place AS (SELECT 1 FROM node WHERE instance = ? AND fence = ? FOR KEY SHARE)
                INSERT INTO node_commit (instance, lane, number) SELECT ?, ?, ? FROM place
                ON CONFLICT (instance, lane) DO UPDATE SET number = excluded.number WHERE node_commit.number >= ?
                """,
            arguments: [instance, fenceNumber, instance, lane, number, acknowledged])
        if stored == 1 { return { [commits] in commits.acknowledge(lane, number) } }
        try check(transaction)
        throw try recordOlderCopy(transaction)
    }

    /// Stores that all gateways have found their commits on the timeline, or that this is not known; then ``begin`` throws on
    /// connections to another timeline than that of before.
    func confirm(timeline: String) { self.timeline.withLock { $0 = timeline } }

    /// Records that the store is an older copy of the one that this process used, for the next start too.
    func recordOlderCopy(_ transaction: some SQLTransaction) throws -> Lost {
        onOlderCopy(try Self.newestFence(transaction) ?? 0)
        return record(.olderCopy)
    }

    /// Records that the process can never use the store again, and returns the error for the caller to throw. The first
    /// reason stays.
    @discardableResult
    func record(_ loss: Lost) -> Lost {
        self.loss.withLock { if $0 == nil { $0 = loss } }
        lost.store(true, ordering: .releasing)
        return loss
    }

    /// Renews the place of a process that uses the store alone if the last renewal was some seconds ago.
    ///
    /// - Returns: What to do once the transaction is committed; nil if nothing was renewed.
    func renew(_ transaction: some SQLTransaction) throws -> (@Sendable () -> Void)? {
        guard isExclusive.load(ordering: .relaxed), elapsed > Self.nanoseconds(Self.renewalPeriod) else { return nil }
        let began = clocks.sinceBoot().nanoseconds
        try showLife(transaction, applied: 0, timeline: "")
        return { [self] in recordReading(begunAt: began) }
    }

    /// Writes a sign of life.
    ///
    /// - Parameters:
    ///   - applied: The number of the last change of others that has effect at this node.
    ///   - timeline: The timeline of the server on which this node has found all of its commits.
    /// - Throws: `Lost` if another process has used the place of this one, or if the last sign of life was so long ago
    ///   that changes of others may have been removed.
    func showLife(_ transaction: some SQLTransaction, applied: Int64, timeline: String) throws {
        let changed = try transaction.execute(
            sql: """
                UPDATE node SET until = \(Self.now) + ?, applied = ?, timeline = ?
                WHERE instance = ? AND fence = ? AND until > \(Self.now) - ?
                """,
            arguments: [Self.duration, applied, timeline, instance, fenceNumber, Self.maximumGap])
        if changed == 1 { return }
        try check(transaction)
        throw record(.gap)
    }

    /// Records that what the process knows was up to date at this time since boot, in nanoseconds.
    func recordReading(begunAt began: Int64) { renewed.store(began, ordering: .relaxed) }

    /// Leaves the nodes.
    ///
    /// - Returns: The fence number of the store now, which is larger than that of any copy made before.
    func release(_ transaction: some SQLTransaction) throws -> Int64 {
        guard try AcknowledgedCommits.has(commits.acknowledged, of: instance, transaction) else {
            throw try recordOlderCopy(transaction)
        }
        let number = (try Self.newestFence(transaction) ?? fenceNumber) + 1
        try transaction.execute(
            sql: "UPDATE node SET until = \(Self.now), fence = ? WHERE instance = ? AND fence = ?",
            arguments: [number, instance, fenceNumber])
        record(.left)
        return number
    }

    /// Returns the largest fence number of all nodes; nil without nodes. Throws for one that no gateway has.
    static func newestFence(_ transaction: some SQLTransaction) throws -> Int64? {
        guard let fence = try transaction.integer(sql: "SELECT max(fence) FROM node") else { return nil }
        guard fences.contains(fence) else {
            throw LedgerUnavailable(
                "the table node states the fence number \(fence), which no gateway has; correct or delete that row")
        }
        return fence
    }

    /// The current time on the database's clock in microseconds, as an expression of SQL.
    static let now = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

    private static func nanoseconds(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1_000_000_000 + duration.components.attoseconds / 1_000_000_000
    }
}
