internal import GatewayCore

// Rules that can never decide anything, because an earlier one covers all that they cover. For `check`: whoever wrote one
// meant something else.

extension Policy.SendRule {
    /// Whether the rule covers every send that the other covers.
    public func includes(_ other: Policy.SendRule) -> Bool {
        from.includes(other.from) && to.includes(other.to, of: other)
    }
}

extension Policy.Subject {
    /// Whether everybody whom the other speaks of is spoken of here.
    public func includes(_ other: Policy.Subject) -> Bool { self == .anyUser || self == other }
}

extension Policy.Recipient {
    fileprivate func includes(_ other: Policy.Recipient, of rule: Policy.SendRule) -> Bool {
        // `self` for one sender is that user, however it is written.
        func plain(_ recipient: Policy.Recipient) -> Policy.Recipient {
            if recipient == .sender, case .user(let user) = rule.from { .user(user) } else { recipient }
        }
        if case .audience = other { return self == other }
        return self == .anyUser || plain(self) == plain(other)
    }
}

extension TagPattern {
    /// Whether every tag that fits the other fits here.
    public func includes(_ other: TagPattern) -> Bool {
        // A byte that no pattern holds stands for whatever the other's star stands for: only a star here can take it.
        matches(other.text.utf8.map { $0 == UInt8(ascii: "*") ? 0 : $0 })
    }

    /// Whether every tag that fits is reserved, so that none can ever be registered by it.
    public var isReservedOnly: Bool { text.hasPrefix("username:") || text.hasPrefix("from:") }
}
