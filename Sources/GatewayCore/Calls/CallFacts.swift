public import GatewaySupport

/// The facts established about a call so far, as the log and the journal record them. Each pipeline phase adds to them.
@dynamicMemberLookup
public struct CallFacts: Sendable, Hashable, CustomStringConvertible {
    /// The individual facts. They are read and written through `CallFacts` itself by dynamic member lookup.
    public struct Fields: Sendable, Hashable {
        /// The call's id.
        public var call: CallID
        /// The client's address.
        public var peer: Peer
        /// The trace context received from a trusted peer; nil where the call starts a trace of its own. It is logged
        /// and sent to the backend, and not recorded in the journal.
        public var trace: TraceContext?
        /// The operation; nil until the request is parsed.
        public var action: Action?
        /// The authenticated caller; nil until authentication succeeds.
        public var user: UserName?
        /// The unverified user name of a failed login.
        public var attempted: PresentedName?
        /// The authenticator that accepted or rejected the caller's credential.
        public var authenticator: PluginName?
        /// The recipient of a send, or the previous owner of a device that is handed over.
        public var recipient: UserName?
        /// The audience that a send addresses, if any.
        public var audience: String?
        /// The push service that a send goes through.
        public var pns: PushService?
        /// The push service that a registration is for.
        public var platform: PushService?
        /// The backend's id of the registration that the call concerns.
        public var registration: RegistrationID?
        /// The session that is renewed or closed.
        public var session: SessionID?
        /// The tags of a registration that no policy rule allows: rejected, dropped or registered nevertheless, as
        /// `rule` says.
        public var tags: [Tag] = []
        /// The policy decision: a rule such as `send[0]`, or `tags-dropped`, or `would-refuse`.
        public var rule: String?
        /// The fence of the rule, if the rule has one. The sender's position is never among the facts.
        public var fence: FenceName?
        /// The time at which a scheduled send is to be delivered; nil for a send that is delivered at once.
        public var scheduled: WallTime?
        /// Whether the send is secure: the push contains an id in place of the text.
        public var isSecure = false
        /// The id of the secure notification that is sent or fetched.
        public var secureID: SecureID?
        /// The name of the limit that rejected the call.
        public var limit: String?
        /// The names of shadow limits that would have rejected the call or skipped a member of its audience.
        public var wouldLimit: [String] = []
        /// The length of the message text in UTF-8 bytes. The text itself is never recorded.
        public var bytes: Int?
        /// The keyed digest of the message text.
        public var digest: KeyedDigest?
        /// The keyed digest of the `Idempotency-Key` of the send, if it has one.
        public var idempotencyKey: KeyedDigest?

        @usableFromInline
        init(call: CallID, peer: Peer) {
            self.call = call
            self.peer = peer
        }
    }

    // Boxed, because facts are passed through every phase and into records.
    @usableFromInline var fields: CopyOnWriteBox<Fields>

    /// Creates the facts of a call of which only the id and the peer are known.
    public init(call: CallID, peer: Peer) { fields = CopyOnWriteBox(Fields(call: call, peer: peer)) }

    /// Reads or writes one fact.
    @inlinable
    public subscript<Value>(dynamicMember path: WritableKeyPath<Fields, Value>) -> Value {
        get { fields.value[keyPath: path] }
        set { fields.value[keyPath: path] = newValue }
    }

    /// Sets several facts in one mutation.
    @inlinable
    public mutating func establish(_ change: (inout Fields) -> Void) { change(&fields.value) }

    /// A description of the facts, without the storage.
    public var description: String { "\(fields.value)" }

    /// Returns whether both hold the same facts.
    public static func == (left: CallFacts, right: CallFacts) -> Bool {
        left.fields === right.fields || left.fields.value == right.fields.value
    }

    /// Hashes the facts.
    public func hash(into hasher: inout Hasher) { hasher.combine(fields.value) }
}
