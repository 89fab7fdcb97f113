/// A send with an idempotency key, as the journal has it: what is remembered of it over a restart.
public struct KeyedSend: Sendable, Hashable {
    /// Who sent.
    public let user: UserName
    /// To whom: a user's name, or `audience:` and an audience's.
    public let target: String
    /// Through which service.
    public let service: PushService
    /// The keyed digest of the key.
    public let key: KeyedDigest
    /// The keyed digest of the message.
    public let message: KeyedDigest
    /// When it was recorded.
    public let at: WallTime
    /// How its sends ended, one for a user, one a member for an audience; a send of which the end was not written is not
    /// in it.
    public let results: [CallResult]
    /// How many members of an audience were skipped.
    public let skipped: Int
    /// How many sends there were.
    public let intents: Int

    /// A send from its parts.
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
