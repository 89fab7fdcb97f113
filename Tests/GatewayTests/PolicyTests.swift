import GatewayCore
import GatewayTesting
import Testing

@testable import Gateway

@Suite struct PolicyTests {
    private let alice = Identity(
        user: UserName(canonical: "alice")!, groups: [GroupName("dispatch")!], authenticator: FixedAuthenticator.name)
    private let eve = Identity(user: UserName(canonical: "eve")!, authenticator: FixedAuthenticator.name)
    private let bob = UserName(canonical: "bob")!

    @Test("The first rule that covers a send allows it") func theFirstRuleThatCoversASendAllowsIt() {
        let rules = SendRules([
            .init(from: .user(eve.user), to: .sender), .init(from: .group(GroupName("dispatch")!), to: .anyUser),
            .init(from: .anyUser, to: .user(bob)),
        ])
        func name(_ sender: Identity, _ recipient: UserName, _ rules: SendRules) -> String? {
            rules.rule(for: sender, to: recipient, at: nil)?.name
        }
        #expect(name(alice, eve.user, rules) == "send[1]")
        #expect(name(eve, eve.user, rules) == "send[0]")
        #expect(name(eve, bob, rules) == "send[2]")
        #expect(name(eve, alice.user, rules) == nil)
        #expect(name(alice, bob, SendRules([])) == nil)
        // Group names compare with case, as account databases compare them.
        #expect(name(alice, bob, SendRules([.init(from: .group(GroupName("Dispatch")!), to: .anyUser)])) == nil)
    }

    private func tags(
        _ requested: [String], by caller: Identity, _ allow: [String], drop: Bool = false
    ) throws -> [String] {
        let rules = [Policy.TagRule(user: .group(GroupName("dispatch")!), allow: allow.map { TagPattern($0)! })]
        let policy = Policy(send: [], tags: rules, tagsNotAllowed: drop ? .drop : .refuse)
        var facts = CallFacts(call: CallID(process: 1, number: 1), peer: .documentation)
        return try policy.registeredTags(requested, by: caller, &facts).map(\.text)
    }

    @Test("Allowed tags are sorted and deduplicated") func allowedTagsAreSortedAndDeduplicated() throws {
        #expect(try tags(["topic:b", "Topic:A", "TOPIC:a"], by: alice, ["topic:*"]) == ["Topic:A", "topic:b"])
        #expect(try tags([], by: eve, ["*"]).isEmpty)
        // The caller's own username tag is accepted in any case, and dropped because the backend adds it.
        #expect(try tags(["username:alice", "UserName:ALICE", "x"], by: alice, ["x"]) == ["x"])
    }

    @Test(
        "No rule allows a reserved or malformed tag",
        arguments: [
            "from:alice", "FROM:alice", "from:", "username:bob", "UserName:bob", "username:alice:x", "username:",
            "username:alice ",
            "x,username:bob", "$UserId:{bob}", "$InstallationId:{1}", "", "a b", "é", "a||b", "\u{0}",
            "username\u{3A}\u{301}bob",
            "u\u{17F}ername:bob", "username：bob", String(repeating: "x", count: 121),
        ])
    func noRuleAllowsAReservedOrMalformedTag(_ tag: String) {
        for drop in [true, false] {
            #expect(throws: Rejection.self) { try tags([tag], by: alice, ["*"], drop: drop) }
            #expect(throws: Rejection.self) { try tags(["ok", tag], by: alice, ["*"], drop: drop) }
        }
    }

    @Test("Tags that no rule allows are rejected or dropped") func tagsThatNoRuleAllowsAreRejectedOrDropped() throws {
        #expect(throws: Rejection.self) { try tags(["topic:a", "region:x"], by: alice, ["topic:*"]) }
        #expect(try tags(["topic:a", "region:x"], by: alice, ["topic:*"], drop: true) == ["topic:a"])
        #expect(throws: Rejection.self) { try tags(["topic:a"], by: eve, ["topic:*"]) }
        #expect(try tags(["topic:a"], by: eve, ["topic:*"], drop: true).isEmpty)
    }

    @Test("A registration has at most 59 tags") func aRegistrationHasAtMost59Tags() throws {
        #expect(try tags((0..<59).map { "t\($0)" }, by: alice, ["*"]).count == 59)
        #expect(throws: Rejection.self) { try tags((0..<60).map { "t\($0)" }, by: alice, ["*"]) }
    }

    @Test(
        "A tag pattern matches by its wildcards without regard to case",
        arguments: [
            ("*", "anything", true), ("topic:*", "topic:", true), ("topic:*", "TOPIC:x:y", true),
            ("topic:*", "topi", false),
            ("Topic:News", "topic:news", true), ("topic", "topic:", false), ("*:x", "a:x", true), ("*:x", ":x", true),
            ("*:x", "a:xy", false), ("a*b*c", "abc", true), ("a*b*c", "aXbYbc", true), ("a*b*c", "acb", false),
            ("ab*ba", "aba", false),
            ("ab*ba", "abba", true), ("**", "x", true), ("a**a", "aa", true), ("a**a", "a", false),
            ("*a*", "xax", true),
            ("*a*", "xbx", false), ("*aab*", "aaaab", true),
        ])
    func patterns(_ pattern: String, _ tag: String, _ fits: Bool) throws {
        #expect(try #require(TagPattern(pattern)).matches(try #require(Tag(tag))) == fits)
    }

    @Test(
        "A pattern that can match no tag is invalid",
        arguments: ["", " ", "a b", "é*", "*,*", "$*", "a?", "[a]", "*\u{301}", String(repeating: "x", count: 121)])
    func aPatternThatCanMatchNoTagIsInvalid(_ pattern: String) {
        #expect(TagPattern(pattern) == nil)
    }

    /// The reference is an exhaustive matcher.
    @Test("Tag patterns agree with an exhaustive matcher") func tagPatternsAgreeWithAnExhaustiveMatcher() throws {
        func fits(_ pattern: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> Bool {
            guard let first = pattern.first else { return text.isEmpty }
            if first == UInt8(ascii: "*") {
                return (0...text.count).contains { fits(pattern.dropFirst(), text.dropFirst($0)) }
            }
            return text.first == first && fits(pattern.dropFirst(), text.dropFirst())
        }
        var random = SplitMix(seed: 9)
        for _ in 0..<20_000 {
            let pattern = String(
                (0..<Int.random(in: 1...6, using: &random)).map { _ in "ab*".randomElement(using: &random)! })
            let tag = String(
                (0..<Int.random(in: 1...8, using: &random)).map { _ in "ab".randomElement(using: &random)! })
            let expected = fits(Array(pattern.utf8)[...], Array(tag.utf8)[...])
            #expect(try #require(TagPattern(pattern)).matches(try #require(Tag(tag))) == expected, "\(pattern) \(tag)")
        }
    }

    /// The pattern makes backtracking matchers exponentially slow.
    @Test("A hostile tag pattern matches in bounded time") func aHostileTagPatternMatchesInBoundedTime() throws {
        let pattern = try #require(TagPattern(String(repeating: "*a", count: 60) + "*b"))
        let tag = try #require(Tag(String(repeating: "a", count: 120)))
        let time = cpuTime { for _ in 0..<100 { #expect(!pattern.matches(tag)) } }
        #expect(time < .seconds(1))
    }

    @Test("A reserved or malformed tag is rejected and recorded, although the rules drop others")
    func reservedTagsAreRejectedAndRecorded() async {
        for tag in ["from:alice", "username:bob", "x,username:bob", "$UserId:{bob}"] {
            let gateway = TestGateway { rules in
                rules.policy.tags = [.init(user: .anyUser, allow: [TagPattern("*")!])]
                rules.policy.tagsNotAllowed = .drop
            }
            await gateway.expect(.tagNotAllowed, for: Sample.put(Sample.body(tags: "[\"\(tag)\"]"), as: "eve"))
            #expect(gateway.journal.records(.rejection).map(\.result) == ["tag-not-allowed"])
            #expect(gateway.journal.records(.rejection).first?.facts?.user == eve.user)
            #expect(gateway.ledger.requests.isEmpty)
        }
    }

    @Test("A send that no rule allows is rejected and recorded")
    func aSendThatNoRuleAllowsIsRejectedAndRecorded() async {
        let gateway = TestGateway { $0.policy.send = [.init(from: .anyUser, to: .sender)] }
        await gateway.expect(.sendNotAllowed, for: Sample.send())
        let record = gateway.journal.records(.rejection).first
        #expect(record?.result == "send-not-allowed")
        #expect(record?.facts?.user?.text == "alice")
        #expect(record?.facts?.recipient?.text == "bob")
        #expect(await gateway.serve(Sample.send(to: "alice")).status == 200)
        #expect(gateway.journal.records(.intent).first?.facts?.rule == "send[0]")
    }
}
