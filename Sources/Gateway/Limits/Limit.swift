/// A configured limit: a number of calls in a period for each combination of its keys.
public struct Limit: Sendable, Hashable {
    /// A property that a limit counts by.
    public enum Key: String, Sendable, Hashable, CaseIterable {
        /// The sender; counts only sends.
        case sender
        /// The recipient; counts only sends.
        case recipient
        /// The caller; counts every call.
        case user
        /// Each group of the caller, shared by its members; counts every call. A caller without groups is not counted.
        case group
        /// The push service of a send.
        case pns
        /// The peer's address. A limit with this key alone counts invalid credentials, before the caller is known.
        case address
    }

    /// The cost of a send to an audience.
    public enum AudienceCost: String, Sendable, Hashable, CaseIterable {
        /// One for each member.
        case member
        /// One, like any other call.
        case call
    }

    /// The name in responses and metrics.
    public var name: String
    /// The keys.
    public var per: Set<Key>
    /// The number of calls in a period; at least 1.
    public var count: Int
    /// The period in nanoseconds.
    public var period: Int64
    /// The number of calls at once after a pause; at least 1.
    public var burst: Int
    /// Whether the limit is in shadow mode: it counts calls but rejects none.
    public var isShadow: Bool
    /// The callers that are not counted.
    public var exempt: [RuleSubject]
    /// The cost of a send to an audience. Ignored for a limit by recipient, which checks each member separately.
    public var audienceCost: AudienceCost

    /// Creates a limit. The default burst is `count`, because one message to three push services is three calls at
    /// once. By default a send to an audience costs one for each member if the limit counts only sends, and otherwise
    /// one.
    public init(
        name: String, per: Set<Key>, count: Int, period: Duration, burst: Int? = nil, isShadow: Bool = false,
        exempt: [RuleSubject] = [], audienceCost: AudienceCost? = nil
    ) {
        let (seconds, attoseconds) = period.components
        self.name = name
        self.per = per
        self.count = max(1, count)
        self.period = max(1, seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        self.burst = max(1, burst ?? count)
        self.isShadow = isShadow
        self.exempt = exempt
        self.audienceCost = audienceCost ?? (per.isDisjoint(with: Key.ofSends) ? .call : .member)
    }

    /// Whether the limit counts only sends.
    public var countsSendsOnly: Bool { !per.isDisjoint(with: Key.ofSends) }
    /// Whether the limit counts invalid credentials by address.
    public var countsLogins: Bool { per == [.address] }
    /// Whether the state of the limit depends only on the caller's own calls, so that it may be disclosed to the
    /// caller.
    var isOfCallerAlone: Bool { per.isSubset(of: [.sender, .user]) && !isShadow }

    /// The limits of a gateway whose configuration has none.
    public static let defaults = [
        Limit(name: "sends", per: [.sender], count: 60, period: .seconds(60)),
        Limit(name: "pair", per: [.sender, .recipient], count: 30, period: .seconds(60)),
        Limit(name: "inbox", per: [.recipient], count: 120, period: .seconds(60)),
        Limit(name: "calls", per: [.user], count: 600, period: .seconds(60)),
        Limit(name: "login", per: [.address], count: 600, period: .seconds(60)),
    ]

    /// The maximum number of limits.
    public static let maximumCount = 64
}

extension Limit.Key {
    /// The keys that only sends have.
    fileprivate static let ofSends: Set<Limit.Key> = [.sender, .recipient, .pns]
}
