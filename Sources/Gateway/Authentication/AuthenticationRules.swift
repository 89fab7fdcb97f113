/// The time limits of credential verification, and the delay of failed logins.
public struct AuthenticationRules: Sendable, Hashable {
    /// The maximum time for all authenticators together to verify one credential, including waiting.
    public var deadline: Duration
    /// The minimum time between the arrival of a wrong password and its rejection.
    public var failedLoginDelay: Duration
    /// The maximum of the random time that is added to `failedLoginDelay`.
    public var failedLoginJitter: Duration
    /// The maximum number of delayed rejections. A further failed login is rejected at once as
    /// `rate-limited`.
    public var maximumRejectionsWaiting: Int

    /// The lifetime of a session whose account status cannot be queried, from its login.
    public var sessionWithoutStatus: Duration
    /// The time from the last registration after which a device is deleted if the status of its owner's account cannot
    /// be queried.
    public var deviceWithoutStatus: Duration

    /// Creates rules.
    public init(
        deadline: Duration = .seconds(10), failedLoginDelay: Duration = .milliseconds(300),
        failedLoginJitter: Duration = .milliseconds(85), maximumRejectionsWaiting: Int = 1024,
        sessionWithoutStatus: Duration = .seconds(86_400), deviceWithoutStatus: Duration = .seconds(30 * 86_400)
    ) {
        self.deadline = deadline
        self.failedLoginDelay = failedLoginDelay
        self.failedLoginJitter = failedLoginJitter
        self.maximumRejectionsWaiting = maximumRejectionsWaiting
        self.sessionWithoutStatus = sessionWithoutStatus
        self.deviceWithoutStatus = deviceWithoutStatus
    }
}
