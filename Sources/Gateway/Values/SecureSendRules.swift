internal import GatewayCore

/// The configured rules of secure sends, which push an id in place of the text.
public struct SecureSendRules: Sendable, Hashable {
    /// The senders whose sends are all secure. Any sender may ask for a secure send.
    public var senders: [RuleSubject]
    /// The time for which a text can be read after its send.
    public var lifetime: Duration

    /// The lifetime of a gateway whose configuration has none: a week.
    public static let standardLifetime = Duration.seconds(7 * 86_400)

    /// Creates rules.
    public init(senders: [RuleSubject], lifetime: Duration = standardLifetime) {
        self.senders = senders
        self.lifetime = lifetime
    }

    /// Returns whether all sends of the sender are secure.
    func covers(_ sender: Identity) -> Bool { senders.contains { $0.covers(sender) } }

    /// The lifetime in microseconds.
    var microseconds: Int64 { lifetime.components.seconds * 1_000_000 }
}
