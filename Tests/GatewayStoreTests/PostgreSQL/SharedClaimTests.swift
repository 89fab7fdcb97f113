import GatewayCore
import GatewaySupport
import GatewayTesting
import PostgreSQLClient
import Synchronization
import Testing

@testable import GatewayStore

private typealias Fixture = LedgerFixture

@Suite("Claims of two gateways", .timeLimit(.minutes(5)), .enabled(if: PostgreSQLServer.isInstalled))
struct SharedClaimTests: CallsTwoGateways {
    @Test("A call waits until the other gateway has finished its call for the same handle, and sees its result")
    func waits() async throws {
        let both = try TwoGateways()
        let handle = try Fixture.handle(1)
        let claim = try await both.first.begin(.create(user: alice, handle: handle), now: noon)
        let other = Task {
            let claim = try await both.second.begin(.create(user: bob, handle: handle), now: noon)
            return claim.decision
        }
        await both.pauses.waitForOne()
        try await both.first.finish(claim, with: .reserved(Fixture.id(1), handle: handle), now: noon)
        try await register(1, 1, of: alice, at: both.first)
        both.pauses.open()
        #expect(try await other.value == .queryWithoutHandle)
    }

    @Test("Calls for different handles do not wait, and none leaves a row")
    func differentHandles() async throws {
        let both = try TwoGateways()
        let claim = try await both.first.begin(update(alice, 1, 1), now: noon)
        let other = try await both.second.begin(update(bob, 2, 2), now: noon)
        #expect(try await both.claimedKeys() == 2)
        try await both.second.finish(other, with: .registered(Fixture.id(2), replacing: nil), now: noon)
        try await both.first.finish(claim, with: .registered(Fixture.id(1), replacing: nil), now: noon)
        #expect(both.pauses.total == .zero)
        #expect(try await both.claimedKeys() == 0)
        #expect(try await content(both.first) == ["1-1-1 alice live", "2-2-1 bob live"])
    }

    @Test("A call that waits too long for the other gateway fails as if too many waited")
    func patience() async throws {
        let both = try TwoGateways()
        both.pauses.open()
        let claim = try await both.first.begin(update(alice, 1, 1), now: noon)
        let error = await #expect(throws: LedgerUnavailable.self) {
            let claim = try await both.second.begin(update(bob, 2, 1), now: noon)
            _ = claim.decision
        }
        #expect(error?.isFull == true)
        #expect((.seconds(10)...(.seconds(11))).contains(both.pauses.total))
        #expect(both.second.claims.heldKeys == 0)
        try await both.first.finish(claim, with: .registered(Fixture.id(1), replacing: nil), now: noon)
    }

    @Test("The claims of a gateway whose right has ended are taken over, and its call changes nothing")
    func takeover() async throws {
        let both = try TwoGateways()
        let claim = try await both.first.begin(update(alice, 1, 1), now: noon)
        try both.expireFirst()
        let other = try await both.second.begin(update(bob, 2, 1), now: noon)
        #expect(both.pauses.total == .zero)
        #expect(other.decision == .notRegistered)
        do {
            _ = try await both.first.prepare(Fixture.id(1), replacing: nil, for: claim, now: noon)
            Issue.record("The attempt was stored.")
        } catch { #expect(error.detail.contains("another gateway has taken over the claim")) }
        let finished = await failure(finishing: claim, at: both.first)
        #expect(finished?.detail.contains("another gateway has taken over the claim") == true)
        #expect(both.first.fault == nil)
        #expect(try await content(both.second) == [])
        try await both.second.finish(other, with: .registered(Fixture.id(2), replacing: nil), now: noon)
        #expect(try await content(both.second) == ["2-2-1 bob live"])
        #expect(try await both.claimedKeys() == 0)
    }

    @Test("A claim that a crash of the server has removed changes nothing", arguments: [false, true])
    func truncated(isPrepared: Bool) async throws {
        let both = try TwoGateways()
        let claim = try await both.first.begin(update(alice, 1, 1), now: noon)
        if isPrepared { _ = try await both.first.prepare(Fixture.id(1), replacing: nil, for: claim, now: noon) }
        try both.execute("TRUNCATE claim")
        #expect(await failure(finishing: claim, at: both.first) != nil)
        #expect(try await content(both.second) == (isPrepared ? ["1-1-1 alice unknown"] : []))
    }

    @Test("A sweep skips a registration that the other gateway uses")
    func sweep() async throws {
        let both = try TwoGateways()
        let id = Fixture.id(1)
        try await register(1, 1, of: alice, at: both.first)
        let marking = try await both.first.begin(.delete(user: alice, label: id), now: noon)
        try await both.first.finish(marking, with: .deleting(id), now: noon)
        func sweep() async throws -> LedgerDecision {
            let claim = try await both.second.begin(.sweep(id), now: noon)
            return claim.decision
        }
        func use() async throws {
            let using = try await both.first.begin(.delete(user: alice, label: id), now: noon)
            #expect(using.decision == .owned(id))
            #expect(try await sweep() == .notMarked)
        }
        try await use()
        // The dropped claim's row is deleted before the next one of the gateway is made.
        let next = try await both.first.begin(update(alice, 2, 2), now: noon)
        #expect(try await sweep() == .pendingDeletion(id, owner: alice, because: .givenUp))
        #expect(both.pauses.total == .zero)
        _ = next.decision
    }

    @Test("Of many calls of two gateways for one handle, one at a time calls the backend, and one registration remains")
    func concurrent() async throws {
        let both = try TwoGateways(sleeps: true)
        let calls = RunningCalls()
        try await withThrowingTaskGroup { tasks in
            for number in 1...40 {
                let ledger = number.isMultiple(of: 2) ? both.first : both.second
                let user = number.isMultiple(of: 3) ? bob : alice
                let request = try update(user, number, 1)
                tasks.addTask { [noon] in
                    let claim = try await ledger.begin(request, now: noon)
                    calls.begin()
                    let id = claim.decision.updated ?? Fixture.id(number)
                    _ = try await ledger.prepare(id, replacing: nil, for: claim, now: noon)
                    calls.end()
                    try await ledger.finish(claim, with: .registered(id, replacing: nil), now: noon)
                }
            }
            try await tasks.waitForAll()
        }
        #expect(calls.most == 1)
        #expect(try await content(both.first).filter { $0.hasSuffix("live") }.count == 1)
        #expect(try await both.first.allRegistrations().count == 1)
        #expect(try await both.claimedKeys() == 0)
    }

    @Test("A row whose deletion has failed is deleted later", arguments: [0, 4096])
    func failedDeletion(maximumUndeleted: Int) async throws {
        let both = try TwoGateways()
        let claims = PostgreSQLClaims(
            both.stores[0].settings.connection, node: both.stores[0].node, maximumUndeleted: maximumUndeleted)
        let (kept, lost) = (KeyLocks.Key.registration(Fixture.id(1)), KeyLocks.Key.registration(Fixture.id(2)))
        #expect(try await claims.tryAcquire(lost, for: 1))
        #expect(try await claims.tryAcquire(kept, for: 2))
        let blocker = try both.connect()
        try blocker.simple("BEGIN; LOCK TABLE claim IN SHARE MODE")
        claims.releaseAll(1)
        // Fails like the deletion before it.
        #expect(try await !claims.tryAcquire(.registration(Fixture.id(3)), for: 3))
        try blocker.simple("ROLLBACK")
        blocker.close()
        // The first one comes after the deletion if it does not share its group.
        for _ in 0..<2 { #expect(try await claims.tryAcquire(kept, for: 2)) }
        #expect(claims.undeleted == 0)
        #expect(try await both.claimedKeys() == 1)
        claims.close()
    }

    @Test("The rows of an earlier run of a gateway do not stay")
    func earlierRun() async throws {
        let both = try TwoGateways()
        try both.execute(
            "INSERT INTO claim VALUES ('a', '\(both.stores[0].node.instance)', 0, 1), ('b', 'gone', 1, 1)")
        _ = try await both.first.begin(update(alice, 1, 1), now: noon).decision
        #expect(both.stores[0].claims?.undeleted == 0)
        let second = try await both.first.begin(update(alice, 2, 2), now: noon)
        #expect(try await both.claimedKeys() == 1)
        _ = second.decision
    }

    @Test("Calls of two busy gateways for different devices all succeed")
    func busy() async throws {
        var limits = StoredLedger.Limits()
        limits.registrations = 1000
        let both = try TwoGateways(sleeps: true, limits: limits)
        try await withThrowingTaskGroup { tasks in
            for number in 1...200 {
                let ledger = number.isMultiple(of: 2) ? both.first : both.second
                let request = try update(number.isMultiple(of: 3) ? bob : alice, number, number % 80)
                tasks.addTask { [noon] in
                    let claim = try await ledger.begin(request, now: noon)
                    let id = claim.decision.updated ?? Fixture.id(number)
                    _ = try await ledger.prepare(id, replacing: nil, for: claim, now: noon)
                    try await ledger.finish(claim, with: .registered(id, replacing: nil), now: noon)
                }
            }
            try await tasks.waitForAll()
        }
        #expect(both.first.fault == nil && both.second.fault == nil)
        #expect(try await both.first.allRegistrations().count == 80)
        #expect(try await both.claimedKeys() == 0)
    }
}

/// Counts calls that run at the same time.
private final class RunningCalls: Sendable {
    private let state = Mutex((running: 0, most: 0))

    /// The largest number of calls that ran at the same time.
    var most: Int { state.withLock { $0.most } }

    func begin() { state.withLock { $0 = ($0.running + 1, max($0.most, $0.running + 1)) } }
    func end() { state.withLock { $0.running -= 1 } }
}
