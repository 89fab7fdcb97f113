import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite struct SendRulesTests {
    private static let users = ["alice", "bob", "carol", "dave"].map { UserName(canonical: $0)! }
    private static let groups = ["a", "b", "c"].map { GroupName($0)! }

    /// A western and an eastern half of the Earth, which share their borders.
    private static let fences = [
        FenceName("west")!: fence(-180, 0), FenceName("east")!: fence(0, 180),
    ]
    private static let positions = [
        nil, Position(latitude: 10, longitude: -90), Position(latitude: 10, longitude: 90),
        Position(latitude: 10, longitude: 0),
    ]

    private static func fence(_ west: Double, _ east: Double) -> Fence {
        let corners = [(west, -90.0), (east, -90), (east, 90), (west, 90), (west, -90)]
        // The ring is closed and within the ranges.
        return Fence([[try! LinearRing(corners.map { .init(longitude: $0.0, latitude: $0.1) })]])
    }

    private static func rule(_ random: inout SplitMix, fenced: Bool = false) -> Policy.SendRule {
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
        let within = fenced ? [nil, FenceName("west")!, FenceName("east")!].randomElement(using: &random)! : nil
        return .init(from: from, to: to, within: within)
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
                #expect(rules.rule(for: sender, to: recipient, at: nil)?.name == expected.map { "send[\($0)]" })
            }
        }
    }

    @Test("A rule with a fence matches only a send with a position in the fence") func fences() {
        var random = SplitMix(seed: 24)
        for _ in 0..<2000 {
            let written = (0..<Int.random(in: 0...24, using: &random)).map { _ in Self.rule(&random, fenced: true) }
            let rules = SendRules(written, fences: Self.fences)
            for position in Self.positions {
                let (sender, recipient) = (Self.identity(&random), Self.users.randomElement(using: &random)!)
                func isWithin(_ fence: FenceName) -> Bool { position.map { Self.fences[fence]!.contains($0) } ?? false }
                let expected = written.firstIndex { rule in
                    rule.from.covers(sender) && rule.to.covers(recipient, from: sender.user)
                        && rule.within.map(isWithin) ?? true
                }
                let match = rules.rule(for: sender, to: recipient, at: position)
                #expect(match?.name == expected.map { "send[\($0)]" })
                #expect(match?.fence == expected.flatMap { written[$0].within })
            }
        }
    }

    @Test("A rule with a fence for an audience matches only within the fence") func fencedAudience() {
        let (audience, west) = (AudienceName("oncall")!, FenceName("west")!)
        let rules = SendRules(
            [
                .init(from: .anyUser, to: .audience(audience), within: west),
                .init(from: .user(Self.users[0]), to: .audience(audience)),
            ], fences: Self.fences)
        func match(_ user: Int, _ position: Int) -> SendRules.Match? {
            let sender = Identity(user: Self.users[user], authenticator: FixedAuthenticator.name)
            return rules.rule(for: sender, toAudience: audience, at: Self.positions[position])
        }
        #expect(match(0, 1) == .init(name: "send[0]", fence: west))
        #expect(match(0, 2) == .init(name: "send[1]") && match(0, 0) == .init(name: "send[1]"))
        #expect(match(1, 3) == .init(name: "send[0]", fence: west))
        #expect(match(1, 2) == nil && match(1, 0) == nil)
        // A fence without an area, which the configuration excludes, contains nothing.
        let without = SendRules([.init(from: .anyUser, to: .anyUser, within: west)])
        let sender = Identity(user: Self.users[0], authenticator: FixedAuthenticator.name)
        #expect(without.rule(for: sender, to: Self.users[1], at: Self.positions[1]) == nil)
    }

    @Test("Each match is counted for the rule at its position, with and without a fence") func counting() {
        let west = FenceName("west")!
        let counters = (0..<3).map { _ in Counter() }
        let rules = SendRules(
            [
                .init(from: .user(Self.users[0]), to: .sender),
                .init(from: .user(Self.users[0]), to: .anyUser, within: west), .init(from: .anyUser, to: .anyUser),
            ], fences: Self.fences, counting: counters)
        func match(_ user: Int, _ recipient: Int, _ position: Int) {
            let sender = Identity(user: Self.users[user], authenticator: FixedAuthenticator.name)
            _ = rules.rule(for: sender, to: Self.users[recipient], at: Self.positions[position])
        }
        match(0, 0, 0)
        match(0, 1, 1)
        match(0, 1, 1)
        match(0, 1, 0)
        match(1, 0, 1)
        #expect(counters.map(\.value) == [1, 2, 2])
    }

    @Test("A rule with a fence includes only rules with the same fence") func inclusion() {
        let (west, east) = (FenceName("west")!, FenceName("east")!)
        func rule(_ fence: FenceName?) -> Policy.SendRule { .init(from: .anyUser, to: .anyUser, within: fence) }
        #expect(rule(nil).includes(rule(west)) && rule(west).includes(rule(west)))
        #expect(!rule(west).includes(rule(nil)) && !rule(west).includes(rule(east)))
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
                        return (Self.users + [stranger]).compactMap { rules.rule(for: identity, to: $0, at: nil)?.name }
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
