internal import GatewayCore

/// An index of the rules for sends, built once. It finds the first matching rule without scanning hundreds of them.
struct SendRules: Sendable {
    private let rules: [Policy.SendRule]
    /// The names of the rules in the journal, precomputed.
    private let names: [String]
    /// The first index of each distinct rule; empty if scanning is as fast.
    private let places: [Policy.SendRule: Int]

    /// The maximum number of rules for which scanning is faster than the index.
    private static let walkedAtMost = 8

    init(_ rules: [Policy.SendRule]) {
        self.rules = rules
        names = rules.indices.map { "send[\($0)]" }
        let isWalked = rules.count <= Self.walkedAtMost
        places = isWalked ? [:] : Dictionary(zip(rules, rules.indices)) { first, _ in first }
    }

    /// Returns the journal's name of the first rule that allows the send, or nil.
    func rule(for sender: Identity, to recipient: UserName) -> String? {
        let place =
            places.isEmpty
            ? rules.firstIndex { $0.from.covers(sender) && $0.to.covers(recipient, from: sender.user) }
            : place(from: sender, to: [.anyUser, .user(recipient)] + (recipient == sender.user ? [.sender] : []))
        return place.map { names[$0] }
    }

    /// Returns the name of the first rule that allows the send to the audience. Only a rule that names the audience
    /// does.
    func rule(for sender: Identity, toAudience audience: AudienceName) -> String? {
        rules.firstIndex { $0.to == .audience(audience) && $0.from.covers(sender) }.map { names[$0] }
    }

    private func place(from sender: Identity, to recipients: [Policy.Recipient]) -> Int? {
        let senders = [.anyUser, .user(sender.user)] + sender.groups.map(Policy.Subject.group)
        var first: Int?
        for from in senders {
            for to in recipients {
                guard let place = places[Policy.SendRule(from: from, to: to)] else { continue }
                first = min(first ?? place, place)
            }
        }
        return first
    }
}
