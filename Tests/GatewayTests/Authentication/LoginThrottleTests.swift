import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Throttle of failed logins")
struct LoginThrottleTests {
    private let asked = CountingAuthenticator(["alice": "good", "bob": "good"])
    private let home = Peer.v4(1)

    private func gateway() -> TestGateway { TestGateway(asking: asked) }

    /// Tries a different wrong password each time until one is throttled. Returns the number of verified ones.
    private func tries(_ gateway: TestGateway, _ user: (Int) -> String, from peer: (Int) -> Peer) async -> Int {
        for number in 0..<400 where await gateway.login(user(number), "wrong \(number)", from: peer(number)) == 429 {
            return number
        }
        return 400
    }

    @Test("An address may fail 20 times, then once in 15 s")
    func address() async {
        let gateway = gateway()
        #expect(await tries(gateway, { "user\($0)" }, from: { _ in home }) == 20)
        let response = await gateway.serve(.login("somebody", "x", from: home))
        #expect(response.values("Retry-After") == ["15"] && response.json?["limit"]?.string == "login-address")
        gateway.scheduler.advance(by: .seconds(15))
        #expect(await gateway.login("somebody", "x", from: home) == 401)
        #expect(await gateway.login("somebody", "y", from: home) == 429)
        // Other addresses are not affected.
        #expect(await gateway.login("somebody", "y", from: .v4(2)) == 401)
    }

    @Test("An IPv6 /64 counts as one address")
    func v6() async {
        let gateway = gateway()
        #expect(
            await tries(
                gateway, { "user\($0)" }, from: { Peer(address: .v6(7, UInt64($0)), text: "\($0)") }) == 20)
        #expect(await gateway.login("somebody", "y", from: Peer(address: .v6(8, 0), text: "")) == 401)
    }

    @Test("A pair of user and address may fail 10 times, then once in 30 s")
    func pair() async {
        let gateway = gateway()
        #expect(await tries(gateway, { _ in "alice" }, from: { _ in home }) == 10)
        let response = await gateway.serve(.login("alice", "x", from: home))
        #expect(response.values("Retry-After") == ["30"] && response.json?["limit"]?.string == "login-pair")
        gateway.scheduler.advance(by: .seconds(30))
        #expect(await gateway.login("alice", "x", from: home) == 401)
        #expect(await gateway.login("alice", "y", from: home) == 429)
    }

    @Test("Unknown addresses may fail 100 times an hour for one user without locking the user out")
    func user() async {
        let gateway = gateway()
        #expect(await gateway.login("alice", "good", from: home) == 200)
        #expect(await tries(gateway, { _ in "alice" }, from: { .v4(UInt32(1000 + $0)) }) == 100)
        let response = await gateway.serve(.login("alice", "x", from: .v4(5000)))
        #expect(response.values("Retry-After") == ["36"] && response.json?["limit"]?.string == "login-user")
        // An unknown address is throttled even with the good password.
        #expect(await gateway.login("alice", "good", from: .v4(5000)) == 429)
        gateway.scheduler.advance(by: .seconds(61))
        let before = asked.verificationCount
        #expect(await gateway.login("alice", "good", from: home) == 200)
        #expect(asked.verificationCount == before + 1)
        // Other users at that address are not affected.
        #expect(await gateway.login("bob", "good", from: .v4(5000)) == 200)
    }

    @Test("A user with a successful login at an address is throttled separately there for 30 days")
    func knownPairs() async {
        let gateway = gateway()
        #expect(await gateway.login("alice", "good", from: home) == 200)
        #expect(await tries(gateway, { "user\($0)" }, from: { _ in home }) == 20)
        // bob has not logged in from this address before; alice has.
        #expect(await gateway.login("bob", "good", from: home) == 429)
        #expect(await tries(gateway, { _ in "alice" }, from: { _ in home }) == 10)
        gateway.scheduler.advance(by: .seconds(86_400 * 30 - 1))
        #expect(await tries(gateway, { "user\($0)" }, from: { _ in home }) == 20)
        #expect(await gateway.login("alice", "good", from: home) == 200)
        gateway.scheduler.advance(by: .seconds(86_400 * 30))
        #expect(await tries(gateway, { "user\($0)" }, from: { _ in home }) == 20)
        #expect(await gateway.login("alice", "good", from: home) == 429)
    }

    @Test("Concurrent attempts get no more tries than sequential ones")
    func parallel() async {
        let late = LateAuthenticator()
        let gateway = TestGateway(asking: late)
        await withTaskGroup { tasks in
            for number in 0..<200 { tasks.addTask { await gateway.login("alice", "guess \(number)", from: home) } }
            await late.untilWaiting(10)
            var statuses: [Int] = []
            for _ in 0..<190 { statuses.append(await tasks.next() ?? 0) }
            #expect(statuses.allSatisfy { $0 == 429 })
            late.respond(.rejected(.wrong))
            for await status in tasks { #expect(status == 401) }
        }
    }

    @Test("A repeated wrong password counts once; good passwords, tokens and cached results count nothing")
    func whatDoesNotCount() async {
        let gateway = gateway()
        for _ in 0..<100 { #expect(await gateway.login("eve", "old", from: home) == 401) }
        #expect(await gateway.login("alice", "good", from: home) == 200)
        #expect(await tries(gateway, { "user\($0)" }, from: { _ in home }) == 19)
        // The limit is exhausted, and cached results are still returned.
        #expect(await gateway.login("eve", "old", from: home) == 401)
        #expect(await gateway.login("alice", "good", from: home) == 200)
        let tokens = TestGateway { $0.throttle = gateway.gateway.throttle }
        let request = ReceivedRequest("GET /auth/whoami", authorization: .text("Bearer alices-token"), peer: home)
        #expect(await tokens.serve(request).status == 200)
        for _ in 0..<50 {
            _ = await tokens.serve(
                ReceivedRequest("GET /auth/whoami", authorization: .text("Bearer wrong"), peer: .v4(77)))
        }
        #expect(!gateway.gateway.throttle.currentBans().contains { $0.address == .v4(77) })
    }

    @Test("All spellings of a user name count as one user")
    func canonical() async {
        let gateway = TestGateway(asking: asked) { $0.names = NameRules(prefixes: ["example\\"]) }
        let spellings = ["alice", "ALICE", "EXAMPLE\\alice", "example\\Alice"]
        #expect(await tries(gateway, { spellings[$0 % 4] }, from: { _ in home }) == 10)
        #expect(gateway.gateway.throttle.currentBans().map(\.user?.text) == ["alice"])
    }

    @Test("A login from the cache makes the address known for the user")
    func rememberedElsewhere() async {
        let gateway = TestGateway(asking: asked, dependsOnPeer: false)
        #expect(await gateway.login("alice", "good", from: .v4(3)) == 200)
        // The result comes from the cache, and makes the address known.
        #expect(await gateway.login("alice", "good", from: home) == 200)
        #expect(await tries(gateway, { "user\($0)" }, from: { _ in home }) == 20)
        gateway.gateway.passwordCache.removeAll()
        #expect(await gateway.login("alice", "good", from: home) == 200)
    }

    @Test("A throttled address gets the same response for a cached correct password as for a wrong one")
    func cachedAcceptanceElsewhere() async {
        let gateway = TestGateway(asking: asked, dependsOnPeer: false)
        #expect(await gateway.login("alice", "good", from: home) == 200)
        #expect(await tries(gateway, { "user\($0)" }, from: { _ in .v4(5000) }) == 20)
        await expectSameRejection(gateway, "login-address", from: .v4(5000))
        // Guesses from many addresses exhaust the limit of the user; the owner's address is not affected.
        gateway.scheduler.advance(by: .seconds(1))
        #expect(await tries(gateway, { _ in "alice" }, from: { .v4(UInt32(1000 + $0)) }) == 100)
        await expectSameRejection(gateway, "login-user", from: .v4(6000))
        #expect(await gateway.login("alice", "good", from: home) == 200)
        #expect(asked.verificationCount("alice", "good") == 1)
    }

    @Test("A throttled pair gets the same response for a cached correct password as for a wrong one")
    func cachedAcceptanceOfKnownPair() async {
        let gateway = gateway()
        #expect(await gateway.login("alice", "good", from: home) == 200)
        #expect(await tries(gateway, { _ in "alice" }, from: { _ in home }) == 10)
        await expectSameRejection(gateway, "login-pair", from: home)
        #expect(asked.verificationCount("alice", "good") == 1)
    }

    @Test("An address over the limit of logins does not learn from the cache that a password is correct")
    func cachedAcceptanceOverLimit() async {
        let gateway = TestGateway(asking: asked, dependsOnPeer: false, credentialKinds: [.password, .bearer]) { rules in
            rules.limiter = Limiter(Limit.defaults, clocks: ManualClock().clocks)
        }
        #expect(await gateway.login("alice", "good", from: home) == 200)
        for number in 0..<600 {
            let bad = ReceivedRequest("GET /auth/whoami", authorization: .text("Bearer \(number)"), peer: .v4(5000))
            #expect(await gateway.serve(bad).status == 401)
        }
        #expect(await gateway.login("alice", "wrong", from: .v4(5000)) == 429)
        #expect(await gateway.login("alice", "good", from: .v4(5000)) == 429)
        #expect(await gateway.login("alice", "good", from: home) == 200)
    }

    @Test("A throttled address does not wait for the pending verification of another caller's password")
    func pendingVerification() async {
        let late = LateAuthenticator()
        let authenticator = ScriptedAuthenticator { [asked] credential, peer in
            let outcome = await asked.authenticate(credential, from: peer)
            return outcome.isRejection ? outcome : await late.authenticate(credential, from: peer)
        }
        let gateway = TestGateway(asking: authenticator, dependsOnPeer: false)
        #expect(await tries(gateway, { "user\($0)" }, from: { _ in .v4(5000) }) == 20)
        async let owner = gateway.login("alice", "good", from: home)
        await late.untilWaiting(1)
        #expect(await gateway.login("alice", "good", from: .v4(5000)) == 429)
        late.respond(.accepted(Identity(user: .test("alice"), authenticator: "late")))
        #expect(await owner == 200)
    }

    /// Expects that a wrong password and the correct one are rejected alike.
    private func expectSameRejection(_ gateway: TestGateway, _ limit: String, from peer: Peer) async {
        let wrong = await gateway.serve(.login("alice", "not cached", from: peer))
        let right = await gateway.serve(.login("alice", "good", from: peer))
        #expect(wrong.status == 429 && right.status == 429)
        #expect(wrong.values("Retry-After") == right.values("Retry-After"))
        #expect(wrong.json?["limit"]?.string == limit && right.json?["limit"]?.string == limit)
    }

    @Test("Bans are listed and lifted")
    func bans() async {
        let gateway = gateway()
        let throttle = gateway.gateway.throttle
        #expect(throttle.currentBans().isEmpty)
        #expect(await tries(gateway, { _ in "alice" }, from: { _ in home }) == 10)
        #expect(await tries(gateway, { "user\($0)" }, from: { _ in home }) == 10)
        let bans = throttle.currentBans()
        #expect(bans.count == 2)
        #expect(bans.contains(LoginBan(user: .test("alice"), address: .v4(1), seconds: 30)))
        #expect(bans.contains(LoginBan(user: nil, address: .v4(1), seconds: 15)))
        #expect(throttle.lift(user: .test("alice")) == 2)
        #expect(throttle.currentBans() == [LoginBan(user: nil, address: .v4(1), seconds: 15)])
        #expect(throttle.lift(address: home) > 0)
        #expect(throttle.currentBans().isEmpty && throttle.lift(address: home) == 0)
        #expect(await gateway.login("alice", "wrong again", from: home) == 401)
    }

    @Test("A ban of a user's known address can be lifted")
    func bansOfKnownDevices() async {
        let gateway = gateway()
        #expect(await gateway.login("alice", "good", from: home) == 200)
        #expect(await tries(gateway, { _ in "alice" }, from: { _ in home }) == 10)
        let throttle = gateway.gateway.throttle
        #expect(throttle.currentBans() == [LoginBan(user: .test("alice"), address: .v4(1), seconds: 30)])
        #expect(throttle.lift(user: .test("alice")) == 1)
        #expect(throttle.currentBans().isEmpty)
        // The address is still known.
        #expect(await tries(gateway, { "user\($0)" }, from: { _ in home }) == 20)
        #expect(await gateway.login("alice", "new", from: home) == 401)
    }
}
