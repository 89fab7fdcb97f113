internal import GatewayCore
internal import GatewaySupport

/// An index of the rules for sends, built once. It finds the first matching rule without scanning hundreds of them.
///
/// Rules with a fence are kept apart, so that they cost nothing for a send without a position.
struct SendRules: Sendable {
    /// A rule that allows a send.
    struct Match: Sendable, Hashable {
        /// The name of the rule in the journal.
        var name: String
        /// The fence of the rule.
        var fence: FenceName?
    }

    /// A rule with a fence.
    private struct FencedRule: Sendable {
        let rule: Policy.SendRule
        let fence: Fence
        let match: Match
        /// The position of the rule in the configuration.
        let position: Int
        /// The number of rules without a fence before this one.
        let openRulesBefore: Int
    }

    /// The rules without a fence.
    private let rules: [Policy.SendRule]
    /// Their names in the journal, precomputed.
    private let names: [String]
    /// Their positions in the configuration.
    private let positions: [Int]
    /// The first index of each distinct rule; empty if scanning is as fast.
    private let indices: [Policy.SendRule: Int]
    /// The rules with a fence, in their order.
    private let fencedRules: [FencedRule]

    /// The number of sends that each rule has matched, in the order of the configuration; empty if they are not counted.
    private let matches: [Counter]

    /// The maximum number of rules for which scanning is faster than the index.
    private static let maximumScanned = 8

    /// - Parameters:
    ///   - fences: The areas of the fences. A rule with another fence never matches.
    ///   - matches: The counters of the rules; empty if matches are not counted.
    init(_ rules: [Policy.SendRule], fences: [FenceName: Fence] = [:], counting matches: [Counter] = []) {
        self.matches = matches
        var open: [Policy.SendRule] = []
        var names: [String] = []
        var positions: [Int] = []
        var fencedRules: [FencedRule] = []
        for (index, rule) in rules.enumerated() {
            let name = "send[\(index)]"
            guard let fence = rule.within else {
                open.append(rule)
                names.append(name)
                positions.append(index)
                continue
            }
            guard let area = fences[fence] else { continue }
            fencedRules.append(
                FencedRule(
                    rule: rule, fence: area, match: Match(name: name, fence: fence), position: index,
                    openRulesBefore: open.count))
        }
        (self.rules, self.names, self.positions, self.fencedRules) = (open, names, positions, fencedRules)
        let isScanned = open.count <= Self.maximumScanned
        indices = isScanned ? [:] : Dictionary(zip(open, open.indices)) { first, _ in first }
    }

    /// Returns the first rule that allows the send, or nil.
    ///
    /// - Parameter position: The position that the sender states.
    func rule(for sender: Identity, to recipient: UserName, at position: Position?) -> Match? {
        let index =
            indices.isEmpty
            ? rules.firstIndex { $0.from.covers(sender) && $0.to.covers(recipient, from: sender.user) }
            : index(from: sender, to: [.anyUser, .user(recipient)] + (recipient == sender.user ? [.sender] : []))
        return match(index, position) { $0.from.covers(sender) && $0.to.covers(recipient, from: sender.user) }
    }

    /// Returns the first rule that allows the send to the audience, or nil. Only a rule that names the audience does.
    ///
    /// - Parameter position: The position that the sender states.
    func rule(for sender: Identity, toAudience audience: AudienceName, at position: Position?) -> Match? {
        func covers(_ rule: Policy.SendRule) -> Bool { rule.to == .audience(audience) && rule.from.covers(sender) }
        return match(rules.firstIndex(where: covers), position, covers)
    }

    /// Returns the earlier one of the rule without a fence at the index and of the first matching rule with a fence.
    private func match(_ index: Int?, _ position: Position?, _ covers: (Policy.SendRule) -> Bool) -> Match? {
        if let position, !fencedRules.isEmpty {
            let fenced = fencedRules.first { candidate in
                candidate.openRulesBefore <= index ?? .max && covers(candidate.rule)
                    && candidate.fence.contains(position)
            }
            if let fenced {
                count(fenced.position)
                return fenced.match
            }
        }
        guard let index else { return nil }
        count(positions[index])
        return Match(name: names[index], fence: nil)
    }

    private func count(_ position: Int) { if position < matches.count { matches[position].add() } }

    private func index(from sender: Identity, to recipients: [Policy.Recipient]) -> Int? {
        let senders = [.anyUser, .user(sender.user)] + sender.groups.map(Policy.Subject.group)
        var first: Int?
        for from in senders {
            for to in recipients {
                guard let index = indices[Policy.SendRule(from: from, to: to)] else { continue }
                first = min(first ?? index, index)
            }
        }
        return first
    }
}
