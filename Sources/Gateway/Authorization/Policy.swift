public import GatewayCore

/// Who may notify whom, and who may register which tags, as the configuration says it. `SendRules` is what decides on sends.
public struct Policy: Sendable {
    /// Whom a rule speaks of.
    public enum Subject: Sendable, Hashable {
        /// `*`: any one user.
        case anyUser
        /// A user by name.
        case user(UserName)
        /// `group:…`: a member of the group.
        case group(GroupName)

        func covers(_ identity: Identity) -> Bool {
            switch self {
            case .anyUser: true
            case .user(let user): identity.user == user
            case .group(let group): identity.groups.contains(group)
            }
        }
    }

    /// To whom a rule lets somebody send.
    public enum Recipient: Sendable, Hashable {
        /// `*`: any one user, never an audience.
        case anyUser
        /// `self`: the sender.
        case sender
        /// A user by name.
        case user(UserName)
        /// `audience:…`: all members of an audience at once. Nothing else covers an audience, and it covers no single user.
        case audience(AudienceName)

        func covers(_ recipient: UserName, from sender: UserName) -> Bool {
            switch self {
            case .anyUser: true
            case .sender: recipient == sender
            case .user(let user): recipient == user
            case .audience: false
            }
        }
    }

    /// One rule for sends.
    public struct SendRule: Sendable, Hashable {
        /// Who sends.
        public var from: Subject
        /// To whom.
        public var to: Recipient

        /// A rule from its parts.
        public init(from: Subject, to: Recipient) {
            self.from = from
            self.to = to
        }
    }

    /// One rule for tags.
    public struct TagRule: Sendable, Hashable {
        /// Who registers.
        public var user: Subject
        /// Patterns of the tags that may be registered.
        public var allow: [TagPattern]

        /// A rule from its parts.
        public init(user: Subject, allow: [TagPattern]) {
            self.user = user
            self.allow = allow
        }
    }

    /// What becomes of a registration that names a tag outside the rules.
    public enum TagsNotAllowed: String, Sendable, CaseIterable {
        /// It is refused.
        case refuse
        /// It is registered without the tag. Reserved tags are refused all the same.
        case drop
    }

    /// Whether a device may change its owner.
    public enum HandOver: String, Sendable, CaseIterable {
        /// It may.
        case allow
        /// It may not: 403.
        case refuse
    }

    /// Whether what the rules do not allow is refused; else it is carried out and recorded as `would-refuse`. Reserved tags,
    /// identity and ownership hold in either case.
    public var isEnforced: Bool
    /// The rules for sends; the first that covers a send allows it, and a send that none covers is refused.
    public var send: [SendRule]
    /// The rules for tags beyond the own `username:` tag.
    public var tags: [TagRule]
    /// What becomes of tags outside the rules.
    public var tagsNotAllowed: TagsNotAllowed
    /// Whether a device may change its owner.
    public var handOver: HandOver
    /// The members of each audience, each once.
    public var audiences: [AudienceName: [UserName]]

    /// A policy from its parts.
    public init(
        isEnforced: Bool = true, send: [SendRule], tags: [TagRule] = [], tagsNotAllowed: TagsNotAllowed = .refuse,
        handOver: HandOver = .allow, audiences: [AudienceName: [UserName]] = [:]
    ) {
        self.audiences = audiences
        self.isEnforced = isEnforced
        self.send = send
        self.tags = tags
        self.tagsNotAllowed = tagsNotAllowed
        self.handOver = handOver
    }
}
