internal import GatewayCore

extension Policy {
    /// The rule that lets the sender notify the recipient, as the journal names it, or nil where none does.
    func rule(for sender: Identity, to recipient: UserName) -> String? {
        let index = send.firstIndex { $0.from.covers(sender) && $0.to.covers(recipient, from: sender.user) }
        return index.map { "send[\($0)]" }
    }

    /// The tags that a registration gets beyond the own `username:` tag, sorted, each once.
    ///
    /// `username:` and `from:` are the backend's own words: with them anybody would receive what is meant for others. The
    /// caller's own `username:` tag is accepted and left to the backend, which adds it for every registration.
    func registeredTags(_ requested: [String], by caller: Identity) throws(Refusal) -> [Tag] {
        // 60 is the most that a hub keeps, and one is the user's own.
        guard requested.count <= 59 else { throw Refusal(.tagNotAllowed, "more than 59 tags") }
        var tags: Set<Tag> = []
        let own = Tag(of: caller.user)
        for text in requested {
            guard let tag = Tag(text) else { throw Refusal(.tagNotAllowed, "not a tag by its grammar") }
            if tag == own { continue }
            guard tag.namespace != "username", tag.namespace != "from" else {
                throw Refusal(.tagNotAllowed, "a reserved tag")
            }
            if self.tags.contains(where: { $0.user.covers(caller) && $0.allow.contains { $0.matches(tag) } }) {
                tags.insert(tag)
            } else if tagsNotAllowed == .refuse {
                throw Refusal(.tagNotAllowed, "no rule allows the tag")
            }
        }
        return tags.sorted { $0.key < $1.key }
    }
}
