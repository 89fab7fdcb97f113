import GatewayCore
import GatewayTesting
import Testing

/// The names of accounts, the names that people type, and canonical names lead to the same users and never to each other's.
@Suite("Names of accounts and typed names")
struct PresentedNameTests {
    private static let hex = NameRules(escaping: .hex)

    /// Each treatment of names, alone and with prefixes and suffixes.
    private static let rules = [
        NameRules(), hex, NameRules(prefixes: ["EX\\", "other\\"], suffixes: ["@x", "@Example.com"]),
        NameRules(prefixes: ["EX\\", "zo_x\\"], suffixes: ["@x", "@xc3"], escaping: .hex),
    ]

    private static func account(_ name: String, _ rules: NameRules = hex) -> UserName? {
        rules.canonical(LoginName(name))
    }

    private static func typed(_ name: String, _ rules: NameRules = hex) -> UserName? {
        rules.user(PresentedName(name))
    }

    /// Returns a name of pieces that could be taken for escapes, prefixes and suffixes.
    private static func name(_ random: inout SplitMix) -> String {
        let pieces = [
            "_x", "_X", "_", "x", "c3", "ab", "AB", "20", "7c", "5f", "61", "40", "_x5f", "_x7c", "_xc3_xab", "_x40",
            "a", "Z",
            "\u{EB}", "e\u{308}", "\u{DF}", "\u{17F}", "\u{212A}", "\u{345}", "|", " ", ":", "*", "@x", "@EXAMPLE.com",
            "EX\\",
            "other\\", "\\", "@",
        ]
        if UInt8.random(in: 0..<4, using: &random) == 0 { return random.text(upTo: 8) }
        return (0..<Int.random(in: 1...6, using: &random)).map { _ in pieces.randomElement(using: &random)! }.joined()
    }

    @Test("The canonical name of an account means its user, however often it is given back")
    func aCanonicalNameMeansItsUser() {
        var random = SplitMix(seed: 39)
        for _ in 0..<TestRun.count(full: 40_000, otherwise: 10_000) {
            let name = Self.name(&random)
            for rules in Self.rules {
                guard let user = Self.account(name, rules) else { continue }
                let spelled = user.text.uppercased()
                #expect(Self.typed(user.text, rules) == user && Self.typed(spelled, rules) == user, "\(name) \(user)")
                #expect(rules.user(canonical: user.text) == user, "\(name) \(user)")
                #expect(rules.canonical(rules.login(of: user)) == user, "\(name) \(user)")
            }
        }
    }

    @Test("The user whom a text means is meant by their canonical name too")
    func readingIsIdempotent() {
        var random = SplitMix(seed: 40)
        for _ in 0..<TestRun.count(full: 40_000, otherwise: 10_000) {
            let text = Self.name(&random)
            for rules in Self.rules {
                guard let user = Self.typed(text, rules) else {
                    #expect(Self.account(text, rules) == nil)
                    continue
                }
                #expect(Self.typed(user.text, rules) == user, "\(text) \(user)")
                // A text has no third meaning: it is the name of an account, or a canonical name in some spelling.
                let literal = Self.account(text, rules)
                let isOther = text.utf8.contains { $0 >= 0x80 }
                #expect(user == literal || isOther || text.lowercased().contains(user.text), "\(text) \(user)")
            }
        }
    }

    @Test("Two accounts are one user only if their names are spellings of one name")
    func canonicalNamesAreInjective() {
        var random = SplitMix(seed: 41)
        for rules in Self.rules {
            var names: [UserName: LoginName] = [:]
            for _ in 0..<TestRun.count(full: 20_000, otherwise: 5000) {
                let name = Self.name(&random)
                guard let user = Self.account(name, rules) else { continue }
                let plain = rules.login(of: user)
                #expect(names.updateValue(plain, forKey: user) ?? plain == plain)
                // Without its prefix and suffix the name is the login, up to case and composition.
                #expect(Self.account(plain.text, rules) == user)
            }
            #expect(Set(names.values).count == names.count)
        }
    }

    @Test("Every character of Unicode leads back to its user")
    func everyCharacterLeadsBack() {
        for value in UInt32(0)...0x1_FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            for name in [String(scalar), "a\(scalar)\u{301}"] {
                guard let user = Self.account(name) else { continue }
                if Self.typed(user.text) != user || Self.typed(name) != user { Issue.record("U+\(value) in \(name)") }
            }
        }
    }

    /// The account's own name is a canonical name of somebody else. Whoever may choose such a name gains nothing by it.
    @Test(
        "An account whose name is the canonical name of another user never becomes that user",
        arguments: ["zo\u{EB}", "a b", "auth0|1", "system:sender", "a*", "b@x\\", "_x"])
    func anAccountNeverBecomesAnotherUser(_ victim: String) throws {
        let user = try #require(Self.account(victim))
        let attacker = try #require(Self.account(user.text))
        #expect(attacker != user && Self.hex.unambiguousCanonical(LoginName(user.text)) == attacker)
        // A typed name means the user who has it as the canonical name.
        #expect(Self.typed(user.text) == user)
        #expect(Self.typed(attacker.text) == attacker)
        #expect(Self.hex.login(of: attacker).text == user.text)
    }

    @Test("A typed name that only looks like a canonical name is the name of an account")
    func aTypedNameWithoutCanonicalForm() {
        for name in [
            "max_xavier", "foo_xab", "a_x41", "a_x61", "a_x2", "a_x", "a_x5fb", "e_xcc_x88", "_xc3_x8b", "a_x20 b",
        ] {
            #expect(Self.typed(name) == Self.account(name), "\(name)")
            #expect(Self.hex.user(canonical: name) == nil, "\(name)")
        }
    }

    @Test("Prefix and suffix may stand with a canonical name")
    func prefixesWithCanonicalNames() {
        let rules = NameRules(prefixes: ["EX\\"], suffixes: ["@x"], escaping: .hex)
        let zoe = Self.account("ex\\Zo\u{CB}@X", rules)
        #expect(zoe?.text == "zo_xc3_xab")
        for name in ["zo_xc3_xab", "EX\\ZO_XC3_XAB", "zo_xc3_xab@x", "EX\\zo\u{EB}@x", "zoe\u{308}"] {
            #expect(Self.typed(name, rules) == zoe, "\(name)")
        }
        #expect(Self.typed("alice@x", rules)?.text == "alice")
    }

    @Test("Without escaping, an escape is nothing but characters")
    func withoutEscaping() throws {
        let plain = NameRules()
        #expect(Self.typed("zo_xc3_xab", plain)?.text == "zo_xc3_xab")
        #expect(plain.login(of: try #require(UserName(canonical: "zo_xc3_xab"))).text == "zo_xc3_xab")
        #expect(Self.typed("zo\u{EB}", plain) == nil)
    }
}
