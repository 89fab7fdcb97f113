internal import GatewayCore

/// An index of the rules for sends, built once. It finds the first matching rule without scanning hundreds of them.
struct SendRules: Sendable {
    private let rules: [Policy.SendRule]
    /// The names of the rules in the journal, precomputed.
    private let names: [String]
    /// The first index of each distinct rule; empty if scanning is as fast.
    private let indices: [Policy.SendRule: Int]

    /// The maximum number of rules for which scanning is faster than the index.
    private static let maximumScanned = 8

    init(_ rules: [Policy.SendRule]) {
        self.rules = rules
        names = rules.indices.map { "send[\($0)]" }
        let isScanned = rules.count <= Self.maximumScanned
        indices = isScanned ? [:] : Dictionary(zip(rules, rules.indices)) { first, _ in first }
    }

    /// Returns the journal's name of the first rule that allows the send, or nil.
    func rule(for sender: Identity, to recipient: UserName) -> String? {
        let index =
            indices.isEmpty
            ? rules.firstIndex { $0.from.covers(sender) && $0.to.covers(recipient, from: sender.user) }
            : index(from: sender, to: [.anyUser, .user(recipient)] + (recipient == sender.user ? [.sender] : []))
        return index.map { names[$0] }
    }

    /// Returns the name of the first rule that allows the send to the audience. Only a rule that names the audience
    /// does.
    func rule(for sender: Identity, toAudience audience: AudienceName) -> String? {
        rules.firstIndex { $0.to == .audience(audience) && $0.from.covers(sender) }.map { names[$0] }
    }

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
