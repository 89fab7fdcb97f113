import GatewayCore
import GatewaySupport
import GatewayTesting
import PostgreSQLClient
import Synchronization
import Testing

@testable import GatewayStore

/// The ledgers of two gateways that use one store in PostgreSQL.
struct TwoGateways {
    let first: StoredLedger
    let second: StoredLedger
    /// The stores of the two ledgers.
    let stores: [PostgreSQLStore]
    /// Where calls of the second gateway wait for the first one.
    let pauses = ClaimPauses()
    /// The clock of both gateways. It stands, so they do not renew their rights.
    let clock = ManualClock()
    private let settings: PostgreSQLSettings
    private let directories = [TemporaryDirectory(), TemporaryDirectory()]

    /// - Parameter sleeps: Whether calls that wait for the other gateway sleep. Otherwise those of the second gateway wait
    ///   for `pauses`.
    init(sleeps: Bool = false, limits: StoredLedger.Limits = .init()) throws {
        let server = try #require(PostgreSQLServer.shared(), "PostgreSQL did not start")
        settings = try server.freshDatabase()
        let key = [UInt8](repeating: 7, count: KeyFile.byteCount)
        var stores: [PostgreSQLStore] = []
        for directory in directories {
            try PrivateFiles.makeDirectory(directory.path)
            try PrivateFiles.write(key, toNew: directory("ledger.sqlite.key"))
            stores.append(
                try PostgreSQLStore(
                    .init(connection: settings, readers: 2), file: directory("ledger.sqlite"),
                    use: .shared(patience: .zero), clocks: clock.clocks))
            try Self.execute("UPDATE node SET until = 0", settings)
        }
        for node in stores.map(\.node) {
            try Self.execute(
                """
                UPDATE node SET fence = \(node.fenceNumber), until = \(Int64.max / 2)
                WHERE instance = '\(node.instance)'
                """, settings)
        }
        self.stores = stores
        func ledger(_ store: PostgreSQLStore, _ pause: @escaping ClaimLocks.Pause) -> StoredLedger {
            StoredLedger(
                store, digester: store.digester, limits: limits, proofLifetime: .seconds(86_400), pause: pause)
        }
        first = ledger(stores[0], ClaimLocks.sleep)
        second = ledger(stores[1], sleeps ? ClaimLocks.sleep : pauses.pause)
    }

    /// Executes statements on a connection of its own.
    func execute(_ sql: String) throws { try Self.execute(sql, settings) }

    private static func execute(_ sql: String, _ settings: PostgreSQLSettings) throws {
        let connection = try PostgreSQLConnection.connect(settings, within: .seconds(10))
        defer { connection.close() }
        try connection.simple(sql)
    }

    /// Returns another connection to the database.
    func connect() throws -> PostgreSQLConnection {
        try PostgreSQLConnection.connect(settings, within: .seconds(10))
    }

    /// Returns the number of rows in the table `claim`.
    func claimedKeys() async throws -> Int {
        try await first.read { try $0.count(sql: "SELECT count(*) FROM claim") }
    }

    /// Ends the right of the first gateway, as time would.
    func expireFirst() throws {
        try execute("UPDATE node SET until = 0 WHERE instance = '\(stores[0].node.instance)'")
    }
}

/// Pauses that end when a test says so.
final class ClaimPauses: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var total = Duration.zero
    }

    /// Yields for each pause that has begun.
    let began: AsyncStream<Void>
    private let report: AsyncStream<Void>.Continuation
    private let state = Mutex(State())

    init() { (began, report) = AsyncStream.makeStream() }

    /// The total duration of all pauses.
    var total: Duration { state.withLock(\.total) }

    /// Returns after `open` has been called.
    func pause(_ duration: Duration) async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                state.total += duration
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
            report.yield()
        }
    }

    /// Ends all pauses, and those that begin later at once.
    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Waits until a pause has begun.
    func waitForOne() async { for await _ in began { return } }
}
