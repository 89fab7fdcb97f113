internal import GatewayCore

extension Policy {
    /// The tags that a registration gets beyond the own `username:` tag, sorted, each once. Those that no rule allows, and what
    /// becomes of them, go into the facts.
    ///
    /// `username:` and `from:` are the backend's own words: with them anybody would receive what is meant for others. The
    /// caller's own `username:` tag is accepted and left to the backend, which adds it for every registration.
    func registeredTags(
        _ requested: [String], by caller: Identity, _ facts: inout CallFacts
    ) throws(Refusal) -> [Tag] {
        // 60 is the most that a hub keeps, and one is the user's own.
        guard requested.count <= 59 else { throw Refusal(.tagNotAllowed, "more than 59 tags") }
        var allowed: Set<Tag> = []
        var others: Set<Tag> = []
        let own = Tag(of: caller.user)
        for text in requested {
            guard let tag = Tag(text) else { throw Refusal(.tagNotAllowed, "not a tag by its grammar") }
            if tag == own { continue }
            guard !tag.isReserved else { throw Refusal(.tagNotAllowed, "a reserved tag") }
            if self.tags.contains(where: { $0.user.covers(caller) && $0.allow.contains { $0.matches(tag) } }) {
                allowed.insert(tag)
            } else {
                others.insert(tag)
            }
        }
        return try judged(others, &facts) ? Self.sorted(allowed.union(others)) : Self.sorted(allowed)
    }

    /// Whether tags that no rule allows are registered all the same.
    private func judged(_ others: Set<Tag>, _ facts: inout CallFacts) throws(Refusal) -> Bool {
        guard !others.isEmpty else { return false }
        facts.tags = Self.sorted(others)
        switch (isEnforced, tagsNotAllowed) {
        case (false, _):
            facts.rule = Self.wouldRefuse
            return true
        case (true, .drop):
            facts.rule = "tags-dropped"
            return false
        case (true, .refuse):
            throw Refusal(.tagNotAllowed, "no rule allows \(others.count == 1 ? "a tag" : "\(others.count) tags")")
        }
    }

    /// The journal's word, in place of a rule, for what is carried out only because the policy is not enforced.
    static let wouldRefuse = "would-refuse"

    private static func sorted(_ tags: Set<Tag>) -> [Tag] { tags.sorted { $0.key < $1.key } }
}

extension Tag {
    /// Whether the tag is of the backend's own, which nobody registers.
    var isReserved: Bool { namespace == "username" || namespace == "from" }
}
