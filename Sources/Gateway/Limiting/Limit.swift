/// One limit as the configuration names it: so many calls in a period for each combination of its keys.
public struct Limit: Sendable, Hashable {
    /// What a limit counts by.
    public enum Key: String, Sendable, Hashable, CaseIterable {
        /// Who sends; sends only.
        case sender
        /// Who is sent to; sends only.
        case recipient
        /// The push service of a send.
        case pns
        /// Who calls; every call.
        case user
        /// The peer's address, asked before a credential is looked at; stands alone.
        case address
    }

    /// The name, as answers and metrics have it.
    public var name: String
    /// What it counts by.
    public var per: [Key]
    /// How many in a period; 1 or more.
    public var count: Int
    /// The period in nanoseconds.
    public var period: Int64
    /// How many at once, after a pause; 1 or more.
    public var burst: Int

    /// A limit; the burst is the rate's count unless given, since one message to three services is three calls at once.
    public init(name: String, per: [Key], count: Int, period: Duration, burst: Int? = nil) {
        let (seconds, attoseconds) = period.components
        self.name = name
        self.per = per
        self.count = max(1, count)
        self.period = max(1, seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        self.burst = max(1, burst ?? count)
    }

    /// The limits of a gateway that configures none of its own.
    public static let defaults = [
        Limit(name: "sends", per: [.sender], count: 60, period: .seconds(60)),
        Limit(name: "pair", per: [.sender, .recipient], count: 30, period: .seconds(60)),
        Limit(name: "inbox", per: [.recipient], count: 120, period: .seconds(60)),
        Limit(name: "calls", per: [.user], count: 600, period: .seconds(60)),
        Limit(name: "login", per: [.address], count: 600, period: .seconds(60)),
    ]
}
