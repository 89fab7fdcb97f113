import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Password cache")
struct PasswordCacheTests {
    private let alice = Peer.documentation
    private let elsewhere = Peer.v4(9)

    @Test("An acceptance is cached for a minute")
    func acceptances() async {
        let asked = CountingAuthenticator(["alice": "good"])
        let gateway = TestGateway(asking: asked)
        for _ in 0..<10 { #expect(await gateway.login("alice", "good") == 200) }
        #expect(asked.verificationCount == 1)
        gateway.scheduler.advance(by: .milliseconds(59_999))
        #expect(await gateway.login("alice", "good") == 200)
        #expect(asked.verificationCount == 1)
        gateway.scheduler.advance(by: .milliseconds(1))
        #expect(await gateway.login("alice", "good") == 200)
        #expect(asked.verificationCount == 2)
    }

    @Test("The suspend of the machine does not lengthen the life of an acceptance")
    func suspended() async {
        let asked = CountingAuthenticator(["alice": "good"])
        let gateway = TestGateway(asking: asked)
        #expect(await gateway.login("alice", "good") == 200)
        asked.set("new", of: "alice")
        gateway.clock.suspend(for: .seconds(60))
        #expect(await gateway.login("alice", "good") == 401)
        #expect(asked.verificationCount == 2)
    }

    @Test("A rejection is cached for ten minutes")
    func rejections() async {
        let asked = CountingAuthenticator(["alice": "good"])
        let gateway = TestGateway(asking: asked)
        for _ in 0..<10 { #expect(await gateway.login("alice", "old") == 401) }
        #expect(asked.verificationCount == 1)
        #expect(await gateway.login("alice", "good") == 200)
        gateway.scheduler.advance(by: .seconds(599))
        gateway.scheduler.advance(by: .seconds(1))
        #expect(await gateway.login("alice", "old") == 401)
        #expect(asked.verificationCount("alice", "old") == 2)
    }

    @Test("A success discards the user's cached rejections, and keeps those of other users")
    func success() async {
        let asked = CountingAuthenticator(["alice": "good"])
        let gateway = TestGateway(asking: asked)
        #expect(await gateway.login("alice", "new") == 401)
        #expect(await gateway.login("bob", "x") == 401)
        // The password changes in the account database, and alice logs in with it from another address.
        asked.set("new", of: "alice")
        #expect(await gateway.login("alice", "new") == 401)
        #expect(await gateway.login("alice", "new", from: elsewhere) == 200)
        #expect(await gateway.login("alice", "new") == 200)
        #expect(await gateway.login("bob", "x") == 401)
        #expect(asked.verificationCount("bob", "x") == 1)
    }

    @Test("A success that confirms a cached one keeps the cached rejections")
    func confirmation() async {
        let asked = CountingAuthenticator(["alice": "good"])
        let gateway = TestGateway(asking: asked)
        #expect(await gateway.login("alice", "good") == 200)
        #expect(await gateway.login("alice", "old") == 401)
        for _ in 0..<5 {
            gateway.scheduler.advance(by: .seconds(61))
            #expect(await gateway.login("alice", "good") == 200)
            #expect(await gateway.login("alice", "old") == 401)
        }
        #expect(asked.verificationCount("alice", "good") == 6)
        #expect(asked.verificationCount("alice", "old") == 1)
    }

    @Test("Forgetting removes the results of one user or of all users")
    func forgetting() async {
        let asked = CountingAuthenticator(["alice": "good", "bob": "good"])
        let gateway = TestGateway(asking: asked)
        for user in ["alice", "bob"] {
            _ = await gateway.login(user, "good")
            _ = await gateway.login(user, "old")
        }
        gateway.gateway.passwordCache.removeAll(of: .test("alice"))
        for user in ["alice", "bob"] {
            #expect(await gateway.login(user, "good") == 200)
            #expect(await gateway.login(user, "old") == 401)
        }
        #expect(asked.verificationCount("alice", "good") == 2 && asked.verificationCount("bob", "good") == 1)
        #expect(asked.verificationCount("alice", "old") == 2 && asked.verificationCount("bob", "old") == 1)
        gateway.gateway.passwordCache.removeAll()
        #expect(gateway.gateway.passwordCache.count == 0)
        #expect(await gateway.login("bob", "good") == 200)
        #expect(asked.verificationCount("bob", "good") == 2)
    }

    @Test("A pending result is not cached after a forget", arguments: [true, false])
    func forgottenMeanwhile(all: Bool) async {
        let late = LateAuthenticator()
        let gateway = TestGateway(asking: late)
        async let status = gateway.login("alice", "x")
        await late.untilWaiting(1)
        if all {
            gateway.gateway.passwordCache.removeAll()
        } else {
            gateway.gateway.passwordCache.removeAll(of: .test("alice"))
        }
        late.respond(.accepted(Identity(user: .test("alice"), authenticator: "late")))
        // The result was valid when it arrived.
        #expect(await status == 200)
        #expect(gateway.gateway.passwordCache.count == 0)
    }

    @Test("Concurrent logins with the same password cause one query")
    func singleFlight() async {
        let late = LateAuthenticator()
        let counter = CountingAuthenticator(["alice": "good"])
        let gateway = TestGateway(
            asking: ScriptedAuthenticator { credential, peer in
                _ = await counter.authenticate(credential, from: peer)
                return await late.authenticate(credential, from: peer)
            })
        await withTaskGroup { tasks in
            for _ in 0..<50 { tasks.addTask { await gateway.login("alice", "good") } }
            await late.untilWaiting(1)
            tasks.addTask { await gateway.login("alice", "other") }
            await late.untilWaiting(2)
            #expect(counter.verificationCount("alice", "good") == 1)
            late.respond(.accepted(Identity(user: .test("alice"), authenticator: "late")))
            for await status in tasks { #expect(status == 200) }
        }
        #expect(counter.verificationCount == 2)
    }

    @Test("Results are cached for each address unless no authenticator depends on it", arguments: [true, false])
    func addresses(dependsOnPeer: Bool) async {
        let asked = CountingAuthenticator(["alice": "good"])
        let gateway = TestGateway(asking: asked, dependsOnPeer: dependsOnPeer)
        for peer in [alice, elsewhere, Peer(address: .v6(0, 9), text: ""), Peer(address: .local, text: "")] {
            #expect(await gateway.login("alice", "good", from: peer) == 200)
        }
        #expect(asked.verificationCount == (dependsOnPeer ? 4 : 1))
    }

    /// The parts of the keys concatenate to the same bytes.
    @Test("Cache keys do not collide")
    func keys() {
        let clock = ManualClock()
        let cache = PasswordCache(clocks: clock.clocks)
        let chain = AuthenticatorChain([
            .init(name: "a", credentialKinds: [.password], authenticator: ScriptedAuthenticator(always: .notMine))
        ])
        let candidates = chain.passwordCandidates(of: nil)
        var found: Set<PasswordCacheKey> = []
        for (user, login, password) in [
            ("ab", "ab", "c"), ("ab", "a", "bc"), ("a", "ab", "c"), ("a", "a", "bbc"), ("ab", "ab", "c\0"),
            ("ab", "ab", "\0c"), ("ab", "abc", " "),
        ] {
            for peer in [alice, Peer.v4(0x6162_6364), Peer(address: .v6(1, 0x6162_6364), text: "")] {
                let finding = cache.find(
                    LoginName(login), Secret(password.utf8), of: .test(user), by: candidates, from: peer)
                if case .unknown(_, let key?) = finding {
                    found.insert(key)
                } else {
                    Issue.record("the key is already cached")
                }
            }
        }
        #expect(found.count == 21)
    }

    @Test("The cache never exceeds its capacity, and evicts the oldest entries first")
    func bounded() {
        var table = PasswordCacheTable(capacity: 100)
        func key(_ number: Int, user: String? = nil) -> PasswordCacheKey {
            let bytes = withUnsafeBytes(of: UInt64(number)) { Array($0) }
            return PasswordCacheKey(user: .test(user ?? "user\(number)"), digest: KeyedDigest(bytes + bytes)!)
        }
        for number in 0..<1000 {
            table.reject(.wrong, for: key(number), now: 0)
            #expect(table.count <= 100)
        }
        #expect(table.result(for: key(899), now: 1) == nil)
        #expect(table.result(for: key(900), now: 1) != nil)
        // Replacing an entry takes no additional place.
        for _ in 0..<1000 { table.reject(.wrong, for: key(950), now: 0) }
        #expect(table.count == 100 && table.result(for: key(900), now: 1) != nil)

        // A user's wrong passwords evict neither entries of others nor the user's accepted one.
        table = PasswordCacheTable(capacity: 10_000)
        table.accept(Identity(user: .test("alice"), authenticator: "a"), for: key(1, user: "alice"), now: 0)
        for number in 2..<2000 { table.reject(.wrong, for: key(number, user: "alice"), now: 0) }
        #expect(table.count == 256)
        #expect(table.result(for: key(1, user: "alice"), now: 1)?.isAcceptance == true)
        #expect(table.result(for: key(1999, user: "alice"), now: 1) != nil)
        table.removeAll(of: .test("alice"))
        #expect(table.count == 0)
    }

    /// Such a name may be as long as a header field, and needs no account: 65,536 of them would occupy 800 MiB.
    @Test("Names without canonical form from any number of addresses occupy the entries of one user")
    func unmappedNames() async {
        let asked = CountingAuthenticator(["alice": "good"])
        let gateway = TestGateway(asking: asked, dependsOnPeer: false)
        #expect(await gateway.login("alice", "good") == 200)
        for number in 0..<1000 {
            let name = "%\(number)" + String(repeating: "x", count: 11_000)
            #expect(await gateway.login(name, "x", from: .v4(UInt32(number))) == 401)
        }
        #expect(gateway.gateway.passwordCache.count == 257)
        // A repeated name is still found, and another one with the same password is not.
        let last = "%999" + String(repeating: "x", count: 11_000)
        #expect(await gateway.login(last, "x", from: .v4(1001)) == 401)
        #expect(asked.verificationCount(last, "x") == 1)
        #expect(await gateway.login("%1000", "x", from: .v4(1002)) == 401)
        #expect(asked.verificationCount("%1000", "x") == 1)
        #expect(await gateway.login("alice", "good") == 200)
        #expect(asked.verificationCount("alice", "good") == 1)
    }
}
