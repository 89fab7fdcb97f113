import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import HMACToken

@Suite("Issuing of tokens")
struct TokenSignerTests {
    private let files: TestFiles
    private let alice: UserName

    init() throws {
        files = try TestFiles()
        alice = try #require(UserName(canonical: "alice"))
    }

    private func signer(_ keys: String) throws -> TokenSigner {
        try TokenSigner(.init(keys: try files.write(keys)))
    }

    private func text(_ token: IssuedToken) -> String {
        token.token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }

    private func key(_ id: String, _ more: String = "") -> String {
        "  - { id: \(id), algorithm: HS256, secret: \"\(Forge.secret())\"\(more) }\n"
    }

    @Test("An issued token is accepted until it expires")
    func roundTrip() async throws {
        let signer = try signer(Forge.keys)
        let groups: Set<GroupName> = [try #require(GroupName("dispatch")), try #require(GroupName("A.b_c-1"))]
        let issued = try signer.issue(subject: alice, groups: groups, now: WallTime.test)
        #expect(issued.key == "k2")
        #expect(issued.expires == WallTime(seconds: WallTime.test.seconds + 3600))
        #expect(issued.id.utf8.count == 22)
        func answer(_ seconds: Int64) async throws -> AuthenticationOutcome {
            let context = PluginContext.test(now: WallTime(seconds: WallTime.test.seconds + seconds))
            let settings = HMACTokenPlugin.Settings(keys: files.path + "/token-keys.yaml")
            return try await HMACTokenPlugin.makeAuthenticator(settings, context: context).present(text(issued))
        }
        #expect(try await answer(0) == identity("alice", groups: ["dispatch", "A.b_c-1"]))
        #expect(try await answer(-60) == identity("alice", groups: ["dispatch", "A.b_c-1"]))
        #expect(try await answer(-61) == .rejected(.notYetValid))
        #expect(try await answer(3659) == identity("alice", groups: ["dispatch", "A.b_c-1"]))
        #expect(try await answer(3660) == .rejected(.expired))
        #expect(try signer.issue(subject: alice, now: WallTime.test).id != issued.id)
    }

    @Test("The first key that is valid and allowed to issue tokens signs")
    func choosing() throws {
        let signer = try signer(
            "keys:\n" + key("later", ", not-before: 2026-11-21T07:00:01Z")
                + key("ended", ", not-after: 2026-11-21T07:00:00Z")
                + key("verifies", ", issue: false") + key("signs") + key("next"))
        #expect(try signer.issue(subject: alice, now: WallTime.test).key == "signs")
        let soon = WallTime(seconds: WallTime.test.seconds + 1)
        #expect(try signer.issue(subject: alice, now: soon).key == "later")
        let before = WallTime(microseconds: WallTime.test.microseconds - 1)
        #expect(try signer.issue(subject: alice, now: before).key == "ended")
    }

    @Test("A token expires with its key")
    func keyEnd() throws {
        let signer = try signer("keys:\n" + key("a", ", not-after: 2026-11-21T07:30:00Z"))
        let issued = try signer.issue(subject: alice, now: WallTime.test)
        #expect(issued.expires == WallTime(seconds: WallTime.test.seconds + 1800))
    }

    /// Escapes are no characters of a name, so the beginning of a name does not match a part of one.
    @Test("The subjects of a key name users in both spellings")
    func escapedSubjects() throws {
        let hex = NameRules(escaping: .hex)
        for (pattern, fits, others) in [
            ("auth0|*", ["auth0|1"], ["auth0"]), ("auth0_x7c*", ["auth0|1"], ["auth0", "auth0_x7c1"]),
            ("svc_*", ["svc_mail"], ["svc|mail"]), ("max_xavier", ["max_xavier", "MAX_Xavier"], ["max"]),
            ("zo_xc3_xab", ["zo\u{EB}"], ["zo_xc3_xab"]), ("ZO\u{CB}", ["zo\u{EB}"], ["zoe"]), ("*", ["a|b"], []),
        ] {
            let subjects = try #require(SubjectPattern(pattern, names: hex))
            for name in fits { #expect(subjects.matches(try #require(hex.canonical(LoginName(name)))), "\(pattern)") }
            for name in others {
                #expect(!subjects.matches(try #require(hex.canonical(LoginName(name)))), "\(pattern)")
            }
        }
        #expect(SubjectPattern("zo\u{EB}", names: NameRules()) == nil)
    }

    @Test("A token that cannot be issued throws its reason")
    func rejections() throws {
        let none = try signer("keys:\n" + key("a", ", issue: false") + key("b", ", not-after: 2026-11-21T07:00:00Z"))
        #expect(throws: TokenSigner.Fault.noKey) { try none.issue(subject: alice, now: WallTime.test) }
        let bound = try signer("keys:\n" + key("a", ", subjects: [\"svc-*\"]"))
        #expect(throws: TokenSigner.Fault.keyNotAuthorized(key: "a")) {
            try bound.issue(subject: alice, now: WallTime.test)
        }
        let free = try signer("keys:\n" + key("a"))
        for lifetime: Duration in [.zero, .seconds(-1), .milliseconds(999), .seconds(7 * 86_400 + 1)] {
            #expect(throws: TokenSigner.Fault.lifetime) {
                try free.issue(subject: alice, lifetime: lifetime, now: WallTime.test)
            }
        }
        let many = Set((0..<200).compactMap { GroupName("group-with-a-long-name-\($0)") })
        #expect(throws: TokenSigner.Fault.tooLong) { try free.issue(subject: alice, groups: many, now: WallTime.test) }
        #expect(throws: ConfigurationError.self) { try signer("keys: []") }
    }
}
