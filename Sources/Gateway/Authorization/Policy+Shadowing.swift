internal import GatewayCore

// Detection of rules that never take effect because an earlier rule covers them. The `check` command reports them as
// probable mistakes.

extension Policy.SendRule {
    /// Returns whether the rule covers every send that the other one covers.
    public func includes(_ other: Policy.SendRule) -> Bool {
        from.includes(other.from) && to.includes(other.to, of: other)
    }
}

extension Policy.Subject {
    /// Returns whether the subject includes everyone whom the other one includes.
    public func includes(_ other: Policy.Subject) -> Bool { self == .anyUser || self == other }
}

extension Policy.Recipient {
    fileprivate func includes(_ other: Policy.Recipient, of rule: Policy.SendRule) -> Bool {
        // If the rule's sender is one user, `self` as the recipient is that user.
        func plain(_ recipient: Policy.Recipient) -> Policy.Recipient {
            if recipient == .sender, case .user(let user) = rule.from { .user(user) } else { recipient }
        }
        if case .audience = other { return self == other }
        return self == .anyUser || plain(self) == plain(other)
    }
}

extension TagPattern {
    /// Returns whether every tag that matches the other pattern matches this one.
    public func includes(_ other: TagPattern) -> Bool {
        // A zero byte, which no pattern contains, represents the text matched by the other pattern's star. Only a star
        // of this pattern can match it.
        matches(other.text.utf8.map { $0 == UInt8(ascii: "*") ? 0 : $0 })
    }

    /// Whether the pattern matches only reserved tags, so that no tag can be registered because of it.
    public var isReservedOnly: Bool { text.hasPrefix("username:") || text.hasPrefix("from:") }
}
