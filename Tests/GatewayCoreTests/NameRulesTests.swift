import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@Suite struct NameRulesTests {
    private func canonical(_ name: String, _ rules: NameRules = NameRules()) -> String? {
        rules.canonical(LoginName(name))?.text
    }

    @Test("An ASCII name is converted to lower case") func anASCIINameIsConvertedToLowerCase() {
        #expect(canonical("alice") == "alice")
        #expect(canonical("ALICE@Example.COM") == "alice@example.com")
    }

    @Test(
        "A name with a character outside the grammar has no canonical form",
        arguments: [
            "", " ", "a b", "bob||username:carol", "x||!y", "alice:alice", "a,b", "a$b", "a#b", "\u{0}", "a\n", "é",
            "a\u{301}",
            "\u{200D}a", "a\u{202E}b", "\u{FEFF}a", "ａlice", String(repeating: "x", count: 112),
            String(repeating: "x", count: 5000),
        ])
    func aNameWithACharacterOutsideTheGrammarHasNoCanonicalForm(_ name: String) {
        #expect(canonical(name) == nil)
    }

    /// Unicode treats these spellings as one letter. NFC maps the Kelvin sign to K; case folding maps the long s to s,
    /// and ß to ss in both cases.
    @Test(
        "A letter that folds to ASCII becomes ASCII",
        arguments: [
            ("\u{212A}im", "kim"), ("\u{17F}am", "sam"), ("stra\u{DF}e", "strasse"), ("STRA\u{1E9E}E", "strasse"),
            ("\u{FB01}ona", "fiona"),
        ])
    func aLetterThatFoldsToASCIIBecomesASCII(_ name: String, _ folded: String) {
        #expect(canonical(name) == folded)
    }

    @Test(
        "A name that folding changes by more than letter case is ambiguous",
        arguments: [
            "\u{212A}im", "\u{17F}am", "wei\u{DF}", "WEI\u{1E9E}", "\u{FB01}ona", "\u{3C2}", "\u{1F80}", "\u{37E}",
        ])
    func aNameThatFoldingChangesByMoreThanLetterCaseIsAmbiguous(_ name: String) {
        #expect(!NameRules.isUnambiguous(LoginName(name)))
        #expect(NameRules(escaping: .hex).unambiguousCanonical(LoginName(name)) == nil)
    }

    @Test(
        "A name that folding changes only in letter case or composition is unambiguous",
        arguments: [
            "weiss", "WEISS", "Ren\u{E9}", "RENE\u{301}", "\u{130}da", "\u{131}da", "\u{10D}apek",
            "\u{41F}\u{451}\u{442}\u{440}", "\u{1F0}", "j\u{30C}", "\u{738B}",
        ])
    func aNameThatFoldingChangesOnlyInLetterCaseOrCompositionIsUnambiguous(_ name: String) {
        let hex = NameRules(escaping: .hex)
        #expect(NameRules.isUnambiguous(LoginName(name)))
        #expect(hex.unambiguousCanonical(LoginName(name)) == hex.canonical(LoginName(name)))
    }

    @Test("The dotless and the dotted I differ from the plain I") func theDotlessAndTheDottedIDifferFromThePlainI() {
        #expect(canonical("\u{131}da") == nil)
        #expect(canonical("\u{130}da") == nil)
        let hex = NameRules(escaping: .hex)
        let names = ["ida", "\u{131}da", "\u{130}da"].map { canonical($0, hex) }
        #expect(Set(names).count == 3)
        #expect(canonical("IDA", hex) == "ida")
    }

    @Test("Both small sigmas are one letter") func bothSmallSigmasAreOneLetter() {
        let hex = NameRules(escaping: .hex)
        #expect(canonical("ΟΔΥΣΣΕΥΣ", hex) == canonical("Οδυσσεύς".replacing("ύ", with: "υ"), hex))
        #expect(canonical("ς", hex) == canonical("σ", hex))
        #expect(canonical("Σ", hex) == canonical("σ", hex))
    }

    @Test("A capital that folds to several letters equals its small letter")
    func aCapitalThatFoldsToSeveralLettersEqualsItsSmallLetter() {
        let hex = NameRules(escaping: .hex)
        // The examples are two Greek letters with an iota subscript, and the sharp s.
        for (small, capital) in [("\u{1F80}", "\u{1F88}"), ("\u{1FB3}", "\u{1FBC}"), ("\u{DF}", "\u{1E9E}")] {
            #expect(canonical(small, hex) == canonical(capital, hex))
        }
    }

    @Test("Composed and decomposed characters are one") func composedAndDecomposedCharactersAreOne() {
        let hex = NameRules(escaping: .hex)
        #expect(canonical("Ren\u{E9}", hex) == "ren_xc3_xa9")
        #expect(canonical("RENE\u{301}", hex) == "ren_xc3_xa9")
        #expect(canonical("\u{212B}", hex) == canonical("\u{E5}", hex))
    }

    @Test("Escape sequences in a name are escaped") func escapeSequencesInANameAreEscaped() {
        let hex = NameRules(escaping: .hex)
        #expect(canonical("a b", hex) == "a_x20b")
        #expect(canonical("a_x20b", hex) == "a_x5fx20b")
        #expect(canonical("a_b_", hex) == "a_b_")
        #expect(canonical("_X41", hex) == "_x5fx41")
        #expect(canonical("__x", hex) == "__x5fx")
        #expect(canonical("bob||username:carol", hex) == "bob_x7c_x7cusername_x3acarol")
        #expect(canonical(String(repeating: " ", count: 28), hex) == nil)
    }

    @Test("At most one prefix and one suffix are removed") func atMostOnePrefixAndOneSuffixAreRemoved() {
        let rules = NameRules(prefixes: ["EXAMPLE\\", "ex\\"], suffixes: ["@Example.com", "@x"])
        #expect(canonical("EXAMPLE\\Alice", rules) == "alice")
        #expect(canonical("example\\alice@EXAMPLE.COM", rules) == "alice")
        // The rest would mean another user: "alice@x" is alice.
        #expect(canonical("alice@x@x", rules) == nil && canonical("alice@x@example.com", rules) == nil)
        #expect(canonical("alice@example.com@x", rules) == nil && canonical("alice@x", rules) == "alice")
        #expect(canonical("EXAMPLE\\EXAMPLE\\alice", rules) == nil)
        #expect(canonical("OTHER\\alice", rules) == nil)
        #expect(canonical("EXAMPLE\\", rules) == nil)
        #expect(canonical("@example.com", rules) == nil)
        #expect(canonical("alice@example.com.evil", rules) == "alice@example.com.evil")
    }

    /// A combining mark after a prefix must not be removed with it.
    @Test(
        "A character that joins a prefix is not removed with it",
        arguments: ["\u{301}", "\u{200D}", "\u{FE0F}", "\u{20E3}"])
    func aCharacterThatJoinsAPrefixIsNotRemovedWithIt(_ mark: String) {
        let rules = NameRules(prefixes: ["example\\", "ex."], suffixes: ["@example.com"], escaping: .hex)
        for name in [
            "example\\\(mark)alice", "ex.\(mark)alice", "alice@example.com\(mark)", "alice\(mark)@example.com",
        ] {
            #expect(canonical(name, rules) != "alice")
            #expect(canonical(name, rules) != nil)
        }
    }

    @Test("A login name is in lower case unless the authenticators need its case")
    func aLoginNameIsInLowerCaseUnlessTheAuthenticatorsNeedItsCase() {
        #expect(NameRules().login(PresentedName("Ren\u{C9}")).text == "ren\u{E9}")
        #expect(NameRules(keepsLoginCase: true).login(PresentedName("RenÉ")).text == "RenÉ")
    }

    /// Escaping is reversible, so two folded names never share a canonical name.
    @Test("Hex escaping is injective") func hexEscapingIsInjective() throws {
        let hex = NameRules(escaping: .hex)
        var random = SplitMix(seed: 1)
        for _ in 0..<20_000 {
            let name = random.text(0...12)
            guard let user = hex.canonical(LoginName(name)) else { continue }
            #expect(UserName(canonical: user.text) == user)
            let unescaped = try #require(Self.unescaped(user.text), "\(user.text)")
            #expect(hex.canonical(LoginName(unescaped)) == user, "\(name.unicodeScalars.map(\.value))")
            // The unescaped name equals the original up to case and composition.
            #expect(Self.loose(unescaped) == Self.loose(name), "\(name.unicodeScalars.map(\.value))")
        }
    }

    /// Random rules and names give each name one valid tag, and different names different tags.
    @Test("Different names have different tags") func differentNamesHaveDifferentTags() throws {
        var random = SplitMix(seed: 30)
        var names: [UserName: GatewayCore.Tag] = [:]
        for _ in 0..<20_000 {
            let rules = NameRules(
                prefixes: Bool.random(using: &random) ? ["EXAMPLE\\"] : [],
                suffixes: Bool.random(using: &random) ? ["@example.com"] : [],
                escaping: Bool.random(using: &random) ? .hex : .refuse)
            let name = (Bool.random(using: &random) ? "Example\\" : "") + random.text(upTo: 12)
            guard let user = rules.canonical(LoginName(name)) else { continue }
            let tag = GatewayCore.Tag(of: user)
            #expect(GatewayCore.Tag(tag.text) == tag && tag.namespace == "username")
            #expect(tag.text == "username:\(user.text)" && !user.text.contains(":") && tag.text.utf8.count <= 120)
            names[user] = tag
        }
        #expect(names.count > 3000)
        #expect(Set(names.values).count == names.count)
        // A notification hub compares tags without case, so no two tags may differ only in case.
        #expect(Set(names.values.map { $0.text.uppercased() }).count == names.count)
    }

    @Test("An unmapped name has its reason") func anUnmappedNameHasItsReason() {
        let strip = NameRules(prefixes: ["ex\\"], suffixes: ["@x"])
        #expect(
            strip.reasonUnmapped(LoginName("alice")) == nil && strip.reasonUnmapped(LoginName("EX\\Alice@X")) == nil)
        #expect(strip.reasonUnmapped(LoginName("ex\\@x")) == .empty && strip.reasonUnmapped(LoginName("")) == .empty)
        #expect(strip.reasonUnmapped(LoginName("alice@x@x")) == .repeated)
        #expect(strip.reasonUnmapped(LoginName("ex\\a b")) == .foreign(" "))
        #expect(
            strip.reasonUnmapped(LoginName("aé")) == .foreign("é")
                && strip.reasonUnmapped(LoginName("a\u{0}")) == .foreign("\u{0}"))
        #expect(strip.reasonUnmapped(LoginName(String(repeating: "a", count: 112))) == .tooLong)
        #expect(strip.reasonUnmapped(LoginName(String(repeating: "é", count: 600))) == .tooLong)
        #expect(NameRules(escaping: .hex).reasonUnmapped(LoginName(String(repeating: "é", count: 15))) == .tooLong)
        #expect(NameRules(escaping: .hex).reasonUnmapped(LoginName("é")) == nil)
        #expect("\(NameRules.Unmapped.foreign("é"))" == "U+E9 in the name is not one of a-z 0-9 _ @ . -")
        var random = SplitMix(seed: 32)
        for _ in 0..<5000 {
            let name = random.text(upTo: 30)
            for rules in [NameRules(), strip, NameRules(escaping: .hex)] {
                #expect((rules.reasonUnmapped(LoginName(name)) == nil) == (rules.canonical(LoginName(name)) != nil))
            }
        }
    }

    @Test("Name rules are stored and read back") func nameRulesAreStoredAndReadBack() throws {
        let rules = [
            NameRules(), NameRules(escaping: .hex), NameRules(prefixes: ["EX\\", "a\"\\"], suffixes: ["@É.com"]),
        ]
        for one in rules {
            #expect(NameRules(storedForm: one.storedForm) == one)
            for other in rules { #expect((one.storedForm == other.storedForm) == (one == other)) }
        }
        // The case of login names does not affect the canonical names.
        #expect(NameRules(keepsLoginCase: true).storedForm == NameRules().storedForm)
        #expect(NameRules(suffixes: ["@EXAMPLE.com"]).storedForm == NameRules(suffixes: ["@example.COM"]).storedForm)
        for text in ["", "{}", "[]", rules[0].storedForm + " ", rules[0].storedForm.replacing("1", with: "2"), "\u{0}"]
        {
            #expect(NameRules(storedForm: text) == nil, "\(text)")
        }
    }

    @Test("Every spelling of a user name leads back to the user")
    func everySpellingOfAUserNameLeadsBackToTheUser() throws {
        let rules = NameRules(prefixes: ["ex\\"], suffixes: ["@x", "@y"], escaping: .hex)
        let user = try #require(rules.canonical(LoginName("EX\\al ice@x")))
        #expect(
            Set(rules.spellings(of: user).map(\.text))
                == ["al ice", "ex\\al ice", "al ice@x", "al ice@y", "ex\\al ice@x", "ex\\al ice@y"])
        var random = SplitMix(seed: 33)
        for _ in 0..<3000 {
            guard let user = rules.canonical(LoginName(random.text(upTo: 10))) else { continue }
            #expect(rules.spellings(of: user).allSatisfy { rules.canonical($0) == user })
        }
    }

    @Test("The case of a name never makes another user") func theCaseOfANameNeverMakesAnotherUser() {
        let hex = NameRules(escaping: .hex)
        for value in UInt32(0)...0x1_FFFF {
            guard let scalar = Unicode.Scalar(value), scalar != "\u{131}", scalar != "\u{130}" else { continue }
            let name = String(scalar)
            guard let user = hex.canonical(LoginName(name)) else { continue }
            if hex.canonical(LoginName(scalar.properties.lowercaseMapping)) != user {
                Issue.record("lower case of \(value)")
            }
            // U+0345 and similar characters change places with other marks when they are capitalized. A lone one has no
            // mark to change places with.
            if hex.canonical(LoginName(scalar.properties.uppercaseMapping)) != user {
                Issue.record("upper case of \(value)")
            }
        }
    }

    private static func unescaped(_ text: String) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "_"), rest.first == UInt8(ascii: "x") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 3,
                let value = UInt8(String(decoding: rest.dropFirst().prefix(2), as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(3)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func loose(_ text: String) -> String {
        text.uppercased().lowercased().uppercased().precomposedStringWithCanonicalMapping
    }
}
