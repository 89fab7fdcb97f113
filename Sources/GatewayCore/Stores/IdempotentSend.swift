public import GatewaySupport

/// A send with an idempotency key as read back from the journal, to restore the idempotency store after a restart.
public struct IdempotentSend: Sendable, Hashable {
    /// The sender.
    public let user: UserName
    /// The recipient: a user name, or `audience:` and the name of an audience.
    public let target: String
    /// The push service.
    public let service: PushService
    /// The keyed digest of the idempotency key.
    public let key: KeyedDigest
    /// The keyed digest of the message.
    public let message: KeyedDigest
    /// The time of the intent.
    public let at: WallTime
    /// The results: one for a send to a user, one for each member of an audience. A send whose outcome was not recorded
    /// has none.
    public let results: [CallResult]
    /// The number of members of an audience that were skipped.
    public let skipped: Int
    /// The number of intents, which is the number of sends.
    public let intents: Int

    /// Creates a send.
    public init(
        user: UserName, target: String, service: PushService, key: KeyedDigest, message: KeyedDigest, at: WallTime,
        results: [CallResult], skipped: Int, intents: Int
    ) {
        self.user = user
        self.target = target
        self.service = service
        self.key = key
        self.message = message
        self.at = at
        self.results = results
        self.skipped = skipped
        self.intents = intents
    }
}
