import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("The scope of an authenticator")
struct AuthenticatorScopeTests {
    private func pattern(_ text: String, _ names: NameRules = NameRules()) -> NamePattern {
        NamePattern(text, names: names)!
    }

    private func says(_ user: String, groups: Set<GroupName> = []) -> ScriptedAuthenticator {
        ScriptedAuthenticator(
            always: .accepted(Identity(user: .test(user), groups: groups, authenticator: "scripted")))
    }

    @Test("A pattern matches whole names")
    func patterns() {
        for (text, fits, others) in [
            ("*", ["a", "svc-mail"], []),
            ("svc-*", ["svc-", "svc-mail", "svc-a-b"], ["svc", "asvc-", "alice"]),
            ("*@example.com", ["a@example.com", "@example.com"], ["a@example.com.evil", "a@example.org"]),
            ("a*b*c", ["abc", "aXbXc".lowercased(), "abbcc", "abcbc"], ["ab", "acb", "abcd"]),
            ("alice", ["alice"], ["alic", "alices"]),
            ("**a**", ["a", "bab"], ["b"]), ("Alice", ["alice"], ["alic"]), ("SVC-*", ["svc-mail"], ["svc"]),
        ] {
            for name in fits { #expect(pattern(text).matches(.test(name)), "\(text) \(name)") }
            for name in others { #expect(!pattern(text).matches(.test(name)), "\(text) \(name)") }
        }
        for text in ["", "a b", "a?", "[a]", "é", String(repeating: "*", count: 223)] {
            #expect(NamePattern(text, names: NameRules()) == nil, "\(text)")
        }
    }

    /// Escapes are no characters of a name, so a pattern does not match a part of one.
    @Test("A pattern matches the names that people write, in both spellings")
    func escapedNames() throws {
        let hex = NameRules(suffixes: ["@example.com"], escaping: .hex)
        for (text, fits, others) in [
            ("auth0|*", ["auth0|1"], ["auth0", "auth0_x7c1"]), ("auth0_x7c*", ["auth0|1"], ["auth0", "auth0_x7c1"]),
            ("svc_*", ["svc_mail", "svc_x7cmail"], ["svc|mail"]), ("*_x", ["svc_x"], ["svc|", "svc_"]),
            ("max_x*", ["max_xavier"], ["max|", "max\u{E9}"]), ("*7c*", ["a7cb"], ["a|b"]), ("*", ["|", "a"], []),
            ("zo\u{EB}", ["zo\u{EB}", "ZO\u{CB}"], ["zo_xc3_xab", "zoe"]),
            ("zo_xc3_xab", ["zo\u{EB}"], ["zo_xc3_xab", "zoe"]), ("ZO\u{CB}@Example.com", ["zo\u{EB}"], ["zoe"]),
            ("*_xab", ["zo_xab"], ["zo\u{EB}"]), ("*_xc3_xab", ["zo\u{EB}"], ["zo_xc3_xab"]),
            ("a_x2a*", ["a*", "a*b"], ["ab", "a_x2ab"]),
        ] {
            for name in fits {
                #expect(pattern(text, hex).matches(try #require(hex.canonical(LoginName(name)))), "\(text) \(name)")
            }
            for name in others {
                #expect(!pattern(text, hex).matches(try #require(hex.canonical(LoginName(name)))), "\(text) \(name)")
            }
        }
        #expect(!pattern("svc_*", hex).overlaps(pattern("svc|*", hex)))
        #expect(pattern("svc_x7c*", hex).overlaps(pattern("svc|mail", hex)))
    }

    @Test("Two patterns overlap if some name matches both")
    func overlaps() {
        for (left, right, overlap) in [
            ("*", "alice", true), ("svc-*", "*-mail", true), ("svc-*", "alice", false), ("a*", "b*", false),
            ("*a", "*b", false), ("a*z", "ab*yz", true), ("alice", "alice", true), ("a*b", "a*c", false),
            ("*x*", "y*", true),
        ] {
            #expect(pattern(left).overlaps(pattern(right)) == overlap, "\(left) \(right)")
            #expect(pattern(right).overlaps(pattern(left)) == overlap, "\(right) \(left)")
        }
    }

    @Test("The worst pattern matches in bounded time")
    func noBacktracking() {
        let worst = pattern(String(repeating: "a*", count: 100) + "b")
        let time = cpuTime { _ = worst.matches(.test(String(repeating: "a", count: 111))) }
        #expect(time < .milliseconds(100))
    }

    @Test("A password for a name out of scope is not shown to the authenticator")
    func passwordsOutside() async {
        let counting = CountingAuthenticator(["alice": "a", "svc-mail": "s"])
        let gateway = TestGateway(asking: counting, scope: AuthenticatorScope(users: [pattern("svc-*")]))
        #expect(await gateway.login("alice", "a") == 401)
        #expect(await gateway.login("no name at all", "a") == 401)
        #expect(counting.verificationCount == 0)
        #expect(await gateway.login("svc-mail", "s") == 200)
    }

    @Test("Each name is verified by the authenticator whose scope contains it")
    func twoOfAKind() async {
        let (first, second) = (CountingAuthenticator(["svc-mail": "s"]), CountingAuthenticator(["alice": "a"]))
        let gateway = TestGateway { rules in
            rules.authenticators = AuthenticatorChain([
                .init(
                    name: "one", credentialKinds: [.password], scope: AuthenticatorScope(users: [pattern("svc-*")]),
                    authenticator: first),
                .init(name: "two", credentialKinds: [.password], authenticator: second),
            ])
        }
        #expect(await gateway.login("alice", "a") == 200)
        #expect(await gateway.login("svc-mail", "s") == 200)
        #expect(first.verificationCount == 1 && second.verificationCount == 1)
    }

    @Test("A result for another user than the presented one is rejected", arguments: ["bob", "alice2"])
    func anotherUser(user: String) async {
        let gateway = TestGateway(asking: says(user))
        await gateway.expect(.credentialsRejected, for: Sample.send())
        #expect(gateway.journal.records.map(\.result) == ["login-failed"])
        #expect(gateway.journal.records.first?.facts?.user == nil)
        // A name without canonical form belongs to no user.
        await TestGateway(asking: says("alice")).expect(.identityUnmapped, for: .login("a b", "x"))
    }

    @Test(
        "Without an account list, an account whose name folds to another user cannot log in",
        arguments: [("wei\u{DF}", "weiss"), ("\u{17F}am", "sam"), ("\u{FB01}ona", "fiona")])
    func foldedNames(_ name: String, _ other: String) async {
        let counting = CountingAuthenticator([name: "own", other: "other"])
        let gateway = TestGateway(asking: counting)
        #expect(await gateway.login(name, "own") == 401)
        #expect(counting.verificationCount == 0)
        #expect(await gateway.login(other, "own") == 401)
        #expect(await gateway.login(other, "other") == 200)
    }

    @Test("With an account list, a name that folds to another spelling is verified")
    func foldedNamesInAList() async {
        let gateway = TestGateway(asking: ListedAccount())
        #expect(await gateway.login("wei\u{DF}", "own") == 200)
        #expect(await gateway.login("weiss", "own") == 200)
    }

    /// An authenticator that lists one account, `weiss`.
    private struct ListedAccount: AccountList {
        func accounts(at now: WallTime) -> AccountSnapshot { AccountSnapshot(fingerprints: [:]) }
        var files: [String] { [] }
        func reload() async -> [ConfigurationProblem] { [] }
        func status(of login: LoginName) async -> AccountStatus { .valid(groups: []) }
        func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
            .accepted(Identity(user: .test("weiss"), authenticator: "listed"))
        }
    }

    @Test("Two spellings of one user name are the same user")
    func spellings() async {
        let gateway = TestGateway(asking: says("alice")) { $0.names = NameRules(suffixes: ["@example.com"]) }
        #expect(await gateway.login("Alice@Example.COM", "x") == 200)
    }

    @Test("An identity out of scope is rejected for tokens and passwords")
    func identitiesOutside() async {
        let staff = GroupName("staff")!
        func gateway(_ scope: AuthenticatorScope, _ groups: Set<GroupName> = []) -> TestGateway {
            TestGateway(asking: says("alice", groups: groups), credentialKinds: [.bearer, .password], scope: scope)
        }
        let token = ReceivedRequest("GET /auth/whoami", authorization: .text("Bearer x"))
        await gateway(AuthenticatorScope(users: [pattern("svc-*")])).expect(.credentialsRejected, for: token)
        #expect(await gateway(AuthenticatorScope(users: [pattern("al*")])).serve(token).status == 200)
        await gateway(AuthenticatorScope(groups: []), [staff]).expect(.credentialsRejected, for: token)
        await gateway(AuthenticatorScope(groups: []), [staff]).expect(.credentialsRejected, for: Sample.whoami)
        #expect(await gateway(AuthenticatorScope(groups: [staff]), [staff]).serve(token).status == 200)
        #expect(await gateway(AuthenticatorScope(groups: [staff]), []).serve(token).status == 200)
    }
}
