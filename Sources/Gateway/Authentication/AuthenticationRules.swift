/// How long credentials may be judged, and when bad ones are answered.
public struct AuthenticationRules: Sendable, Hashable {
    /// How long all authenticators together may take for one credential, waiting included.
    public var deadline: Duration
    /// A wrong password is answered no sooner than this after it came …
    public var refusalFloor: Duration
    /// … and a random time of at most this.
    public var refusalSpread: Duration
    /// How many may wait for that at once; whoever is one too many is told at once to come back later.
    public var mostRefusalsWaiting: Int

    /// Rules from their parts.
    public init(
        deadline: Duration = .seconds(10), refusalFloor: Duration = .milliseconds(300),
        refusalSpread: Duration = .milliseconds(85), mostRefusalsWaiting: Int = 1024
    ) {
        self.deadline = deadline
        self.refusalFloor = refusalFloor
        self.refusalSpread = refusalSpread
        self.mostRefusalsWaiting = mostRefusalsWaiting
    }
}
