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
    /// The clock of both gateways. It stands, so they show no sign of life.
    var clock: ManualClock { shared.clock }
    private let shared: SharedStore

    /// - Parameter sleeps: Whether calls that wait for the other gateway sleep. Otherwise those of the second gateway wait
    ///   for `pauses`.
    init(sleeps: Bool = false, limits: StoredLedger.Limits = .init()) throws {
        shared = try SharedStore()
        stores = [try shared.open(shared.first), try shared.open(shared.second)]
        try shared.keepAlive()
        func ledger(_ store: PostgreSQLStore, _ pause: @escaping ClaimLocks.Pause) -> StoredLedger {
            StoredLedger(
                store, digester: store.digester, limits: limits, proofLifetime: .seconds(86_400), pause: pause)
        }
        first = ledger(stores[0], ClaimLocks.sleep)
        second = ledger(stores[1], sleeps ? ClaimLocks.sleep : pauses.pause)
    }

    /// Executes statements on a connection of its own.
    func execute(_ sql: String) throws { try shared.run(sql) }

    /// Returns another connection to the database.
    func connect() throws -> PostgreSQLConnection { try shared.connect() }

    /// Returns the number of rows in the table `claim`.
    func claimedKeys() async throws -> Int {
        try await first.read { try $0.count(sql: "SELECT count(*) FROM claim") }
    }

    /// Ends the liveness of the first gateway, as time would.
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

/// The calls that tests of two gateways make.
protocol CallsTwoGateways {}

extension CallsTwoGateways {
    var alice: UserName { LedgerFixture.alice }
    var bob: UserName { LedgerFixture.bob }
    var noon: WallTime { LedgerFixture.noon }

    func update(_ user: UserName, _ label: Int, _ handle: Int) throws -> LedgerRequest {
        .update(user: user, label: LedgerFixture.id(label), handle: try LedgerFixture.handle(handle))
    }

    /// Registers a device at the gateway.
    func register(_ id: Int, _ handle: Int, of user: UserName, at ledger: StoredLedger) async throws {
        let claim = try await ledger.begin(update(user, id, handle), now: noon)
        try await ledger.finish(claim, with: .registered(LedgerFixture.id(id), replacing: nil), now: noon)
    }

    /// Finishes a registration of the id 1 and returns the error.
    func failure(finishing claim: consuming LedgerClaim, at ledger: StoredLedger) async -> LedgerUnavailable? {
        do throws(LedgerUnavailable) {
            try await ledger.finish(claim, with: .registered(LedgerFixture.id(1), replacing: nil), now: noon.adding(7))
            return nil
        } catch { return error }
    }

    func content(_ ledger: StoredLedger) async throws -> [String] {
        try await ledger.allRegistrations().map { "\($0.id) \($0.owner) \($0.state)" }
    }
}
