import GatewayCore
import GatewayStore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayOperations

@Suite("Texts of ended accounts")
struct SecureTextRevocationTests {
    private func store(_ bench: AccountFixture, for owner: UserName) async throws {
        let now = bench.clock.clocks.wall()
        let reservation = try bench.texts.reserve(
            NewSecureText(
                text: "for the former holder", owners: [owner], delivery: now, expiry: now.adding(3_600_000_000)))
        try await reservation.store()
    }

    private func count(_ bench: AccountFixture, of owner: UserName) async throws -> Int {
        try await bench.texts.unfetched(by: owner, since: nil, limit: 100, now: bench.clock.clocks.wall()).count
    }

    @Test("An account that ends loses its texts; a new password and an operator's revocation leave them")
    func ended() async throws {
        let bench = try AccountFixture(TestFiles())
        bench.accounts.list([AccountFixture.alice: "a", AccountFixture.bob: "b"])
        await bench.watch.compare()
        for user in [AccountFixture.alice, AccountFixture.bob] { try await store(bench, for: user) }
        bench.accounts.list([AccountFixture.alice: "a", AccountFixture.bob: "other"])
        await bench.watch.listsHaveChanged()
        await bench.watch.compare()
        try await bench.revocation.revokeWithoutRecord(AccountFixture.bob, because: .byOperator)
        #expect(try await count(bench, of: AccountFixture.bob) == 1)
        bench.accounts.list([AccountFixture.alice: "a"])
        await bench.watch.listsHaveChanged()
        await bench.watch.compare()
        #expect(try await count(bench, of: AccountFixture.bob) == 0)
        try await bench.revocation.revoke(AccountFixture.alice, because: .ended, authenticator: "list")
        #expect(try await count(bench, of: AccountFixture.alice) == 0)
        #expect(bench.texts.amount == (0, 0))
    }

    @Test("A name that comes back starts without texts that were sent to it while nobody had it")
    func reassigned() async throws {
        let bench = try AccountFixture(TestFiles())
        bench.accounts.list([AccountFixture.alice: "a"])
        await bench.watch.compare()
        try await store(bench, for: AccountFixture.bob)
        try await store(bench, for: AccountFixture.alice)
        bench.accounts.list([AccountFixture.alice: "a", AccountFixture.bob: "new"])
        await bench.watch.listsHaveChanged()
        await bench.watch.compare()
        #expect(try await count(bench, of: AccountFixture.bob) == 0)
        #expect(try await count(bench, of: AccountFixture.alice) == 1)
    }
}
