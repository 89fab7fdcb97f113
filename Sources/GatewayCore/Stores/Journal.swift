/// The record of who notified whom, written before the effect.
public protocol Journal: Sendable {
    /// Writes the records, in order and together, and returns once they are on disk.
    ///
    /// Called on an event loop and returns on the same. Throws where they are not on disk and will not be.
    func record(_ records: [JournalRecord]) async throws(JournalUnavailable)

    /// Writes a record soon, in order with all others, without waiting for the disk. Never blocks.
    func note(_ record: JournalRecord)

    /// Why records cannot be written at present, or nil. For readiness.
    var outage: JournalUnavailable? { get }
}

/// The journal cannot be written.
public struct JournalUnavailable: Error, Sendable, Hashable, CustomStringConvertible {
    /// For the log and for readiness.
    public let detail: String
    /// Whether nothing is wrong but that too many records wait; a moment later there may be room.
    public let isFull: Bool

    /// A failure as the store describes it.
    public init(_ detail: String, isFull: Bool = false) {
        self.detail = detail
        self.isFull = isFull
    }

    /// The detail: a gateway that cannot start says it to its operator.
    public var description: String { detail }
}

/// One line of the journal but for `seq`, `at`, `prev` and `hash`, which the journal adds.
public struct JournalRecord: Sendable, Hashable {
    /// What kind of line it is.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Something is about to be asked of the backend.
        case intent
        /// What became of an intent.
        case outcome
        /// A call that was not carried out.
        case refusal
        /// A send was presented once more with its idempotency key, and answered from memory; nothing was sent.
        case replay
        /// An operator changed something.
        case `operator`
        /// The gateway started.
        case start
        /// The gateway stopped.
        case stop
        /// The journal was mended after a crash.
        case recovered
        /// A signed statement of how far the journal goes.
        case checkpoint
        /// A segment was removed by age or size.
        case retired
    }

    /// The kind.
    public var kind: Kind
    /// The call that it is about; nil for what no call did.
    public var facts: CallFacts?
    /// How it ended: a word of `CallResult`, or a refusal's code.
    public var result: String?
    /// Why a login failed, or for how long logins are refused; nil for every other record.
    public var reason: String?
    /// The status that the backend answered with.
    public var status: Int?
    /// How long the backend took, in milliseconds.
    public var milliseconds: Int?
    /// How many like it the record stands for; nil for itself alone.
    public var count: Int?
    /// The uid of the operator who asked for it over the control socket, where one did.
    public var operatorID: UInt32?
    /// What an operator's change is about where that is no user: an address, a session, `all`.
    public var target: String?

    /// A record from its parts.
    public init(
        _ kind: Kind, facts: CallFacts? = nil, result: String? = nil, status: Int? = nil, milliseconds: Int? = nil,
        count: Int? = nil, operatorID: UInt32? = nil, target: String? = nil, reason: String? = nil
    ) {
        self.kind = kind
        self.facts = facts
        self.result = result
        self.status = status
        self.milliseconds = milliseconds
        self.count = count
        self.operatorID = operatorID
        self.target = target
        self.reason = reason
    }
}

/// How a call that was forwarded ended: the journal's words for outcomes.
public enum CallResult: String, Sendable, Hashable, CaseIterable {
    /// No token was issued: no key may, or the session is over.
    case notIssued = "not-issued"
    /// The caller was revoked while the call was under way.
    case revoked
    /// The backend carried it out.
    case accepted
    /// The backend carried it out, and the registration is one from before the gateway.
    case adopted
    /// The backend had lost the registration and has it again, under a new id.
    case healed
    /// The registration could not be deleted and was overwritten under a name that nobody has.
    case neutralised
    /// The backend would not delete the registration and says that it overwrote it, which proves nothing: it is deleted again.
    case deleteUnconfirmed = "delete-unconfirmed"
    /// The ledger could not be written, and nothing was done: the backend was not asked, and no session or token has changed.
    case ledgerUnavailable = "ledger-unavailable"
    /// The backend said no, or broke off; it may have acted.
    case backendFailed = "backend-failed"
    /// No connection could be made; the backend did not act.
    case backendUnreachable = "backend-unreachable"
    /// No answer in time; the backend may have acted, or may yet.
    case backendTimedOut = "backend-timed-out"
    /// Too many calls were waiting, or the backend was left alone for a moment since it was out of reach; it did not act.
    case overloaded
    /// The backend carried it out, and the gateway then failed to write that down.
    case ledgerFailed = "ledger-failed"
    /// The gateway stopped before the end was known.
    case unknownAtStop = "unknown-at-stop"
    /// The gateway crashed before the end was known.
    case unknownAfterCrash = "unknown-after-crash"
}
