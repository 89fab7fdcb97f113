/// What has been established about a call so far, in the words of log and journal. Grows as the call goes its way.
@dynamicMemberLookup
public struct CallFacts: Sendable, Hashable, CustomStringConvertible {
    /// What there is to be known.
    public struct Fields: Sendable, Hashable {
        /// The call's id.
        public var call: CallID
        /// Who is at the other end.
        public var peer: Peer
        /// The trace that a trusted peer began; nil where the call begins its own. For the log and the backend, not recorded.
        public var trace: TraceContext?
        /// What the call does; nil before it was parsed.
        public var action: Action?
        /// The caller, once somebody has vouched for it.
        public var user: UserName?
        /// The name that was tried where nobody vouched for it; unverified.
        public var attempted: PresentedName?
        /// Who vouches for the caller.
        public var authenticator: PluginName?
        /// Whom a send is for, or from whom a device is handed over.
        public var recipient: UserName?
        /// The audience that a send named, where it named one.
        public var audience: String?
        /// The service that a send goes through.
        public var pns: PushService?
        /// The service that a registration is for.
        public var platform: PushService?
        /// The registration concerned, by the backend's id.
        public var registration: RegistrationID?
        /// The session that is renewed or ended.
        public var session: SessionID?
        /// The tags of a registration that no rule allows: refused, dropped or registered all the same, as `rule` says.
        public var tags: [Tag] = []
        /// What of the policy decided: a rule such as `send[0]`, `tags-dropped`, or `would-refuse`.
        public var rule: String?
        /// The limit that refused the call.
        public var limit: String?
        /// The limits in trial that would have refused the call, or spared a member of its audience.
        public var wouldLimit: [String] = []
        /// The length of the message text in UTF-8 bytes. The text itself is never recorded.
        public var bytes: Int?
        /// The keyed digest of the message text.
        public var digest: KeyedDigest?
        /// The keyed digest of the idempotency key that the sender gave, where it did.
        public var idempotencyKey: KeyedDigest?

        @usableFromInline
        init(call: CallID, peer: Peer) {
            self.call = call
            self.peer = peer
        }
    }

    // Facts go from phase to phase and into records.
    @usableFromInline var fields: Boxed<Fields>

    /// The facts of a call of which only this is known.
    public init(call: CallID, peer: Peer) { fields = Boxed(Fields(call: call, peer: peer)) }

    /// What is known of one thing.
    @inlinable
    public subscript<Value>(dynamicMember path: WritableKeyPath<Fields, Value>) -> Value {
        get { fields.value[keyPath: path] }
        set { fields.value[keyPath: path] = newValue }
    }

    /// Adds to what is known, several things at once.
    @inlinable
    public mutating func establish(_ change: (inout Fields) -> Void) { change(&fields.value) }

    /// What is known, and not where it lies.
    public var description: String { "\(fields.value)" }

    /// Whether the same is known.
    public static func == (left: CallFacts, right: CallFacts) -> Bool {
        left.fields === right.fields || left.fields.value == right.fields.value
    }

    /// By what is known.
    public func hash(into hasher: inout Hasher) { hasher.combine(fields.value) }
}
