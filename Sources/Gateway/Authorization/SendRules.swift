internal import GatewayCore

/// The rules for sends, made ready once: the first that covers a send is found without a walk through hundreds of them.
struct SendRules: Sendable {
    private let rules: [Policy.SendRule]
    /// The rules' names in the journal, so that no send has to write its own.
    private let names: [String]
    /// Where each rule stands first; empty where a walk is as fast.
    private let places: [Policy.SendRule: Int]

    /// Up to here a walk is faster than looking up each rule that would cover a send.
    private static let walkedAtMost = 8

    init(_ rules: [Policy.SendRule]) {
        self.rules = rules
        names = rules.indices.map { "send[\($0)]" }
        let isWalked = rules.count <= Self.walkedAtMost
        places = isWalked ? [:] : Dictionary(zip(rules, rules.indices)) { first, _ in first }
    }

    /// The rule that lets the sender notify the recipient, as the journal names it, or nil where none does.
    func rule(for sender: Identity, to recipient: UserName) -> String? {
        let place =
            places.isEmpty
            ? rules.firstIndex { $0.from.covers(sender) && $0.to.covers(recipient, from: sender.user) }
            : place(from: sender, to: [.anyUser, .user(recipient)] + (recipient == sender.user ? [.sender] : []))
        return place.map { names[$0] }
    }

    /// The rule that lets the sender notify the audience. Only one that names it does.
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
