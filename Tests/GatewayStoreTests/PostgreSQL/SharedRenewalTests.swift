import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayStore

private typealias Fixture = LedgerFixture

@Suite("Renewals at two gateways", .timeLimit(.minutes(5)), .enabled(if: PostgreSQLServer.isInstalled))
struct SharedRenewalTests: CallsTwoGateways {
    private func renew(_ id: Int, _ handle: Int, at ledger: StoredLedger, _ time: WallTime) async throws {
        let claim = try await ledger.begin(update(alice, id, handle), now: time)
        #expect(claim.renewable?.id == Fixture.id(id))
        _ = try await ledger.prepare(Fixture.id(id), replacing: nil, for: claim, now: time)
        try await ledger.finish(claim, with: .registered(Fixture.id(id), replacing: nil), now: time)
    }

    @Test("A renewal needs no durable commit, and the other gateway sees its time at once")
    func renewal() async throws {
        let both = try TwoGateways()
        try await register(1, 1, of: alice, at: both.first)
        let commits = both.second.health.commits
        let later = noon.adding(7)
        try await renew(1, 1, at: both.second, later)
        let handle = try Fixture.handle(1)
        #expect(both.second.health.commits == commits)
        #expect(try await both.first.registrations(of: alice).map(\.lastSeen) == [later])
        let create = try await both.second.begin(.create(user: alice, handle: handle), now: later.adding(1))
        try await both.second.finish(create, with: .reserved(Fixture.id(1), handle: handle), now: later.adding(1))
        #expect(both.second.health.commits == commits)
        #expect(try await both.first.registrations(of: alice).map(\.lastSeen) == [later.adding(1)])
        #expect(try await both.claimedKeys() == 0)
    }

    @Test("A renewed registration that was marked for deletion meanwhile is registered again")
    func markedMeanwhile() async throws {
        let both = try TwoGateways()
        try await register(1, 1, of: alice, at: both.first)
        let claim = try await both.second.begin(update(alice, 1, 1), now: noon)
        _ = await both.first.write { try $0.markForDeletion(Fixture.id(1), because: .surplus) }
        let commits = both.second.health.commits
        try await both.second.finish(claim, with: .registered(Fixture.id(1), replacing: nil), now: noon)
        #expect(both.second.health.commits == commits + 1)
        #expect(try await content(both.first) == ["1-1-1 alice live"])
    }

    @Test("The backend is not called for a renewal whose claim was taken over", arguments: [false, true])
    func frozen(isRenewed: Bool) async throws {
        let both = try TwoGateways()
        try await register(1, 1, of: alice, at: both.first)
        let kept = try await both.first.begin(update(alice, 1, 1), now: noon)
        both.clock.advance(by: .seconds(6))
        #expect(try await both.first.prepare(Fixture.id(1), replacing: nil, for: kept, now: noon) != nil)
        both.clock.advance(by: .seconds(20))
        try both.expireFirst()
        let other = try await both.second.begin(update(bob, 2, 1), now: noon)
        // The gateway may renew its right before it notices that it has lost the claim.
        if isRenewed { await both.first.testWrite() }
        do {
            _ = try await both.first.prepare(Fixture.id(1), replacing: nil, for: kept, now: noon)
            Issue.record("The backend would be called.")
        } catch { #expect(error.detail.contains("taken over the claim")) }
        _ = other.decision
    }

    @Test("A renewal whose claim was taken over fails")
    func renewalTakenOver() async throws {
        let both = try TwoGateways()
        try await register(1, 1, of: alice, at: both.first)
        let claim = try await both.first.begin(update(alice, 1, 1), now: noon.adding(7))
        try both.expireFirst()
        let other = try await both.second.begin(update(bob, 2, 1), now: noon)
        #expect(await failure(finishing: claim, at: both.first) != nil)
        try await both.second.finish(other, with: .registered(Fixture.id(1), replacing: nil), now: noon)
        #expect(try await both.first.registrations(of: bob).map(\.lastSeen) == [noon])
    }
}
