import GatewayCore
import GatewayTesting
import Testing

@testable import Gateway

@Suite struct SendRulesTests {
    private static let users = ["alice", "bob", "carol", "dave"].map { UserName(canonical: $0)! }
    private static let groups = ["a", "b", "c"].map { GroupName($0)! }

    private static func rule(_ random: inout SplitMix) -> Policy.SendRule {
        let from: Policy.Subject =
            switch Int.random(in: 0..<8, using: &random) {
            case 0: .anyUser
            case 1...3: .group(groups.randomElement(using: &random)!)
            default: .user(users.randomElement(using: &random)!)
            }
        let to: Policy.Recipient =
            switch Int.random(in: 0..<8, using: &random) {
            case 0: .anyUser
            case 1...2: .sender
            default: .user(users.randomElement(using: &random)!)
            }
        return .init(from: from, to: to)
    }

    private static func identity(_ random: inout SplitMix) -> Identity {
        Identity(
            user: users.randomElement(using: &random)!,
            groups: Set(groups.filter { _ in Bool.random(using: &random) }), authenticator: FixedAuthenticator.name)
    }

    /// The reference walks through the rules in order.
    @Test("The lookup finds the first rule that covers a send") func theLookupFindsTheFirstRuleThatCoversASend() {
        var random = SplitMix(seed: 21)
        for _ in 0..<2000 {
            let written = (0..<Int.random(in: 0...24, using: &random)).map { _ in Self.rule(&random) }
            let rules = SendRules(written)
            for _ in 0..<8 {
                let (sender, recipient) = (Self.identity(&random), Self.users.randomElement(using: &random)!)
                let expected = written.firstIndex { rule in
                    rule.from.covers(sender) && rule.to.covers(recipient, from: sender.user)
                }
                #expect(rules.rule(for: sender, to: recipient) == expected.map { "send[\($0)]" })
            }
        }
    }

    /// A rule that is reported as shadowRejected never decides. Every other rule decides for some user.
    @Test("A shadowRejected rule never decides") func shadowedRulesNeverDecide() {
        var random = SplitMix(seed: 22)
        // One stranger stands for all users that no group or rule names.
        let stranger = UserName(canonical: "stranger")!
        var found = 0
        for _ in 0..<400 {
            let written = (0..<Int.random(in: 2...6, using: &random)).map { _ in Self.rule(&random) }
            let rules = SendRules(written)
            let decided = Set(
                (Self.users + [stranger]).flatMap { sender in
                    (0..<8).flatMap { membership in
                        let groups = Self.groups.indices.filter { membership >> $0 & 1 == 1 }.map { Self.groups[$0] }
                        let identity = Identity(
                            user: sender, groups: Set(groups), authenticator: FixedAuthenticator.name)
                        return (Self.users + [stranger]).compactMap { rules.rule(for: identity, to: $0) }
                    }
                })
            for (index, rule) in written.enumerated() {
                let isShadowed = written[..<index].contains { $0.includes(rule) }
                #expect(isShadowed == !decided.contains("send[\(index)]"), "\(written) at \(index)")
                found += isShadowed ? 1 : 0
            }
        }
        #expect(found > 100)
    }

    @Test(
        "A tag pattern includes another one that matches a subset of its tags",
        arguments: [
            ("*", "topic:*", true), ("topic:*", "*", false), ("topic:*", "topic:news", true),
            ("topic:*", "TOPIC:a*b", true),
            ("a*b", "a*c*b", true), ("a*c*b", "a*b", false), ("a*", "a", true), ("a", "a*", false), ("**", "*", true),
            ("*a*", "ba*", true), ("*ab*", "a*b", false), ("x", "x", true), ("x", "y", false),
        ])
    func aTagPatternIncludesAnotherOneThatMatchesASubsetOfItsTags(
        _ one: String, _ other: String, _ includes: Bool
    ) throws {
        #expect(try #require(TagPattern(one)).includes(try #require(TagPattern(other))) == includes)
    }

    /// The reference matches all tags of up to four letters out of three. The patterns use two of the letters.
    @Test("Inclusion of tag patterns agrees with matching") func inclusionOfTagPatternsAgreesWithMatching() throws {
        var tags = [""]
        for _ in 0..<4 { tags += tags.flatMap { tag in ["a", "b", "x"].map { tag + $0 } } }
        let all = Set(tags).subtracting([""]).compactMap(Tag.init)
        var random = SplitMix(seed: 23)
        func pattern() throws -> TagPattern {
            let letters = (0..<Int.random(in: 1...4, using: &random)).map { _ in "ab*".randomElement(using: &random)! }
            return try #require(TagPattern(String(letters)))
        }
        for _ in 0..<1500 {
            let (one, other) = (try pattern(), try pattern())

            let agrees = all.filter { other.matches($0) }.allSatisfy { one.matches($0) }
            if one.includes(other) { #expect(agrees, "\(one) \(other)") }
            if other.text.count(where: { $0 == "*" }) == 0 { #expect(one.includes(other) == agrees, "\(one) \(other)") }
            if !agrees { #expect(!one.includes(other), "\(one) \(other)") }
        }
    }
}
