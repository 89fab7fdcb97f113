public import GatewayCore

/// The configured rules: who may notify whom, and who may register which tags. `SendRules` evaluates the rules for
/// sends.
public struct Policy: Sendable {
    /// The users that a rule applies to.
    public typealias Subject = RuleSubject

    /// The recipients that a rule allows.
    public enum Recipient: Sendable, Hashable {
        /// `*`: every single user, but no audience.
        case anyUser
        /// `self`: the sender.
        case sender
        /// One user by name.
        case user(UserName)
        /// `audience:…`: all members of an audience by one send. No other recipient covers an audience, and this one
        /// covers no single user.
        case audience(AudienceName)

        /// Returns whether the rule allows the recipient for this sender.
        func covers(_ recipient: UserName, from sender: UserName) -> Bool {
            switch self {
            case .anyUser: true
            case .sender: recipient == sender
            case .user(let user): recipient == user
            case .audience: false
            }
        }
    }

    /// A rule for sends.
    public struct SendRule: Sendable, Hashable {
        /// The allowed senders.
        public var from: Subject
        /// The allowed recipient.
        public var to: Recipient

        /// The fence that must contain the position of the sender; nil for a rule that applies everywhere. A rule with
        /// a fence does not match a send without a position.
        public var within: FenceName?

        /// Creates a rule.
        public init(from: Subject, to: Recipient, within: FenceName? = nil) {
            self.from = from
            self.to = to
            self.within = within
        }
    }

    /// A rule for tags.
    public struct TagRule: Sendable, Hashable {
        /// The users who may register the tags.
        public var user: Subject
        /// The patterns of allowed tags.
        public var allow: [TagPattern]

        /// Creates a rule.
        public init(user: Subject, allow: [TagPattern]) {
            self.user = user
            self.allow = allow
        }
    }

    /// The treatment of a registration with a tag that no rule allows.
    public enum TagsNotAllowed: String, Sendable, CaseIterable {
        /// The registration is rejected.
        case refuse
        /// The registration is made without the tag. Reserved tags are rejected in any case.
        case drop
    }

    /// Whether a device may change its owner.
    public enum OwnershipTransfer: String, Sendable, CaseIterable {
        /// The device may change its owner.
        case allow
        /// The call is rejected with 403.
        case refuse
    }

    /// Whether calls that no rule allows are rejected. If not, they are carried out and recorded as `would-refuse`.
    /// Reserved tags, identity and ownership are enforced in any case.
    public var isEnforced: Bool
    /// The rules for sends. The first rule that covers a send allows it; a send without such a rule is rejected.
    public var send: [SendRule]
    /// The rules for tags in addition to the user's `username:` tag.
    public var tags: [TagRule]
    /// The treatment of tags that no rule allows.
    public var tagsNotAllowed: TagsNotAllowed
    /// Whether a device may change its owner.
    public var ownershipTransfer: OwnershipTransfer
    /// The members of each audience, without duplicates.
    public var audiences: [AudienceName: [UserName]]
    /// The areas that rules for sends refer to.
    public var fences: [FenceName: Fence]

    /// Creates a policy.
    public init(
        isEnforced: Bool = true, send: [SendRule], tags: [TagRule] = [], tagsNotAllowed: TagsNotAllowed = .refuse,
        ownershipTransfer: OwnershipTransfer = .allow, audiences: [AudienceName: [UserName]] = [:],
        fences: [FenceName: Fence] = [:]
    ) {
        self.fences = fences
        self.audiences = audiences
        self.isEnforced = isEnforced
        self.send = send
        self.tags = tags
        self.tagsNotAllowed = tagsNotAllowed
        self.ownershipTransfer = ownershipTransfer
    }
}

// Detection of rules that never take effect because an earlier rule covers them. The `check` command reports them as
// probable mistakes.

extension Policy.SendRule {
    /// Returns whether the rule covers every send that the other one covers.
    public func includes(_ other: Policy.SendRule) -> Bool {
        (within == nil || within == other.within) && from.includes(other.from) && to.includes(other.to, of: other)
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
