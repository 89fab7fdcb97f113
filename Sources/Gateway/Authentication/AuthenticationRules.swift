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

    /// How long after a login a session ends whose account nobody can be asked about.
    public var sessionWithoutStatus: Duration
    /// How long after its last registration a device is deleted whose owner's account nobody can be asked about.
    public var deviceWithoutStatus: Duration

    /// Rules from their parts.
    public init(
        deadline: Duration = .seconds(10), refusalFloor: Duration = .milliseconds(300),
        refusalSpread: Duration = .milliseconds(85), mostRefusalsWaiting: Int = 1024,
        sessionWithoutStatus: Duration = .seconds(86_400), deviceWithoutStatus: Duration = .seconds(30 * 86_400)
    ) {
        self.deadline = deadline
        self.refusalFloor = refusalFloor
        self.refusalSpread = refusalSpread
        self.mostRefusalsWaiting = mostRefusalsWaiting
        self.sessionWithoutStatus = sessionWithoutStatus
        self.deviceWithoutStatus = deviceWithoutStatus
    }
}
