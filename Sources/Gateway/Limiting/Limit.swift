/// One limit as the configuration names it: so many calls in a period for each combination of its keys.
public struct Limit: Sendable, Hashable {
    /// What a limit counts by.
    public enum Key: String, Sendable, Hashable, CaseIterable {
        /// Who sends; sends only.
        case sender
        /// Who is sent to; sends only.
        case recipient
        /// Who calls; every call.
        case user
        /// Each group of the caller, which all of its members share; every call. Whoever is in no group is not counted.
        case group
        /// The push service of a send.
        case pns
        /// The peer's address. Alone it counts credentials that are not good, before anybody knows who calls.
        case address
    }

    /// What a send to an audience costs.
    public enum AudienceCost: String, Sendable, Hashable, CaseIterable {
        /// As many as the audience has members.
        case member
        /// As much as any call: one.
        case call
    }

    /// The name, as answers and metrics have it.
    public var name: String
    /// What it counts by; without order.
    public var per: Set<Key>
    /// How many in a period; 1 or more.
    public var count: Int
    /// The period in nanoseconds.
    public var period: Int64
    /// How many at once, after a pause; 1 or more.
    public var burst: Int
    /// Whether it only shows what it would refuse: it counts, and refuses nobody.
    public var isShadow: Bool
    /// Callers whom it does not count.
    public var exempt: [Policy.Subject]
    /// What a send to an audience costs. Of no meaning where it counts by recipient: then each member is asked for itself.
    public var audienceCost: AudienceCost

    /// A limit; the burst is the rate's count unless given, since one message to three services is three calls at once. A send
    /// to an audience costs one a member unless given, or one in all where every call is counted.
    public init(
        name: String, per: Set<Key>, count: Int, period: Duration, burst: Int? = nil, isShadow: Bool = false,
        exempt: [Policy.Subject] = [], audienceCost: AudienceCost? = nil
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

    /// Whether it counts sends and nothing else.
    public var countsSendsOnly: Bool { !per.isDisjoint(with: Key.ofSends) }
    /// Whether it counts credentials that are not good, by the address that they come from.
    public var countsLogins: Bool { per == [.address] }
    /// Whether how it stands depends on what the caller does alone, so that the caller may be told.
    var isOfCallerAlone: Bool { per.isSubset(of: [.sender, .user]) && !isShadow }

    /// The limits of a gateway that configures none of its own.
    public static let defaults = [
        Limit(name: "sends", per: [.sender], count: 60, period: .seconds(60)),
        Limit(name: "pair", per: [.sender, .recipient], count: 30, period: .seconds(60)),
        Limit(name: "inbox", per: [.recipient], count: 120, period: .seconds(60)),
        Limit(name: "calls", per: [.user], count: 600, period: .seconds(60)),
        Limit(name: "login", per: [.address], count: 600, period: .seconds(60)),
    ]

    /// How many limits there may be at a time.
    public static let most = 64
}

extension Limit.Key {
    /// What only sends have.
    fileprivate static let ofSends: Set<Limit.Key> = [.sender, .recipient, .pns]
}
