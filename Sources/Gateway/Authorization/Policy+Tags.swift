internal import GatewayCore

extension Policy {
    /// Returns the tags to register in addition to the user's `username:` tag, sorted and without duplicates. Records
    /// in the facts which tags no rule allows and how they were treated.
    ///
    /// The namespaces `username:` and `from:` belong to the backend; a client that could register them would receive
    /// messages for others. The caller's own `username:` tag is accepted and ignored, because the backend adds it to
    /// every registration.
    func registeredTags(
        _ requested: [String], by caller: Identity, _ facts: inout CallFacts
    ) throws(Rejection) -> [Tag] {
        // A hub keeps 60 tags, one of which is the `username:` tag.
        guard requested.count <= 59 else { throw Rejection(.tagNotAllowed, "more than 59 tags") }
        var allowed: Set<Tag> = []
        var others: Set<Tag> = []
        let own = Tag(of: caller.user)
        for text in requested {
            guard let tag = Tag(text) else { throw Rejection(.tagNotAllowed, "a malformed tag") }
            if tag == own { continue }
            guard !tag.isReserved else { throw Rejection(.tagNotAllowed, "a reserved tag") }
            if self.tags.contains(where: { $0.user.covers(caller) && $0.allow.contains { $0.matches(tag) } }) {
                allowed.insert(tag)
            } else {
                others.insert(tag)
            }
        }
        return try registersNevertheless(others, &facts) ? Self.sorted(allowed.union(others)) : Self.sorted(allowed)
    }

    /// Returns whether tags that no rule allows are registered nevertheless.
    private func registersNevertheless(_ others: Set<Tag>, _ facts: inout CallFacts) throws(Rejection) -> Bool {
        guard !others.isEmpty else { return false }
        facts.tags = Self.sorted(others)
        switch (isEnforced, tagsNotAllowed) {
        case (false, _):
            facts.rule = Self.wouldReject
            return true
        case (true, .drop):
            facts.rule = "tags-dropped"
            return false
        case (true, .refuse):
            throw Rejection(.tagNotAllowed, "no rule allows \(others.count == 1 ? "a tag" : "\(others.count) tags")")
        }
    }

    /// The value in place of a rule in the journal, for a call that is carried out only because the policy is not
    /// enforced.
    static let wouldReject = "would-refuse"

    private static func sorted(_ tags: Set<Tag>) -> [Tag] { tags.sorted { $0.key < $1.key } }
}

extension Tag {
    /// Whether the tag is in a namespace of the backend, which no client may register.
    var isReserved: Bool { namespace == "username" || namespace == "from" }
}
