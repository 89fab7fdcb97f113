public import GatewaySupport

/// The audit journal: records who notified whom, before the send is forwarded.
public protocol Journal: Sendable {
    /// Appends the records in order and returns when they are on disk.
    ///
    /// Called on an event loop; resumes on the same. Throws if the records are not on disk and will not be written.
    func record(_ records: [JournalRecord]) async throws(JournalUnavailable)

    /// Appends one record and returns when it is on disk, as the function for several does.
    func record(_ record: JournalRecord) async throws(JournalUnavailable)

    /// Queues a record in order with all others and returns without waiting for the disk. Never blocks.
    func append(_ record: JournalRecord)
}

extension Journal {
    /// Appends one record and returns when it is on disk, as the function for several does.
    public func record(_ record: JournalRecord) async throws(JournalUnavailable) { try await self.record([record]) }
}

/// The error that the journal cannot be written.
public struct JournalUnavailable: Error, Sendable, Hashable, CustomStringConvertible {
    /// The detail for the log and for readiness.
    public let detail: String
    /// Whether the only cause is a full queue, which may have room a moment later.
    public let isFull: Bool

    /// Creates an error.
    public init(_ detail: String, isFull: Bool = false) {
        self.detail = detail
        self.isFull = isFull
    }

    /// The detail. It is also the message for the operator if the gateway cannot start.
    public var description: String { detail }
}

/// One line of the journal, without `seq`, `at`, `prev` and `hash`, which the journal adds.
public struct JournalRecord: Sendable, Hashable {
    /// The kind of a line.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// A request to the backend is about to be made.
        case intent
        /// The result of an intent.
        case outcome
        /// A call was rejected.
        case rejection = "refusal"
        /// A send was repeated with its idempotency key and got the stored response. Nothing was sent.
        case replay
        /// An operator changed something.
        case `operator`
        /// The gateway started.
        case start
        /// The gateway stopped.
        case stop
        /// The journal was repaired after a crash.
        case recovered
        /// A signed statement of the journal's current end.
        case checkpoint
        /// A segment was removed because of its age or of the journal's size.
        case retired
        /// The end of the journal of another gateway that uses the same store.
        case nodeHead = "node-head"
    }

    /// The kind.
    public var kind: Kind
    /// The facts of the call concerned; nil if there is none.
    public var facts: CallFacts?
    /// The result: a word of `CallResult`, or the code of a rejection.
    public var result: String?
    /// The reason of a failed login, or the duration of a login ban; nil for other records.
    public var reason: String?
    /// The status of the backend's response.
    public var status: Int?
    /// The duration of the backend's response in milliseconds.
    public var milliseconds: Int?
    /// The notification hub's id of the notification; nil for other outcomes.
    public var notification: String?
    /// The number of similar events that the record stands for; nil for one.
    public var count: Int?
    /// The operator who made the change; nil if the gateway made it by itself.
    public var requester: Operator?
    /// The object of an operator's change if it is not a user: an address, a session, `all`.
    public var target: String?

    /// Creates a record.
    public init(
        _ kind: Kind, facts: CallFacts? = nil, result: String? = nil, status: Int? = nil, milliseconds: Int? = nil,
        notification: String? = nil, count: Int? = nil, requester: Operator? = nil, target: String? = nil,
        reason: String? = nil
    ) {
        self.kind = kind
        self.facts = facts
        self.result = result
        self.status = status
        self.milliseconds = milliseconds
        self.notification = notification
        self.count = count
        self.requester = requester
        self.target = target
        self.reason = reason
    }
}

/// The result of a forwarded call, as recorded in the outcome.
public enum CallResult: String, Sendable, Hashable, CaseIterable {
    /// No token was issued: no key may sign, or the session is closed.
    case notIssued = "not-issued"
    /// The caller was revoked while the call was in progress.
    case revoked
    /// The backend carried out the call.
    case accepted
    /// The backend carried out the call, and the registration was made before the gateway was installed.
    case adopted
    /// The backend had lost the registration; it was made again under a new id.
    case healed
    /// The registration could not be deleted and was overwritten with a name that no user has.
    case neutralised
    /// The backend would not delete the registration. It reports that it overwrote it, which is no proof, so the
    /// gateway deletes it again.
    case deleteUnconfirmed = "delete-unconfirmed"
    /// The ledger could not be written. No request was sent to the backend, and no session or token has changed.
    case ledgerUnavailable = "ledger-unavailable"
    /// The text of a secure notification could not be stored. No request was sent to the backend.
    case textsUnavailable = "texts-unavailable"
    /// The backend responded with an error, or closed the connection early. It may have acted.
    case backendFailed = "backend-failed"
    /// No connection could be opened. The backend did not act.
    case backendUnreachable = "backend-unreachable"
    /// The backend did not respond in time. It may have acted, or may act later.
    case backendTimedOut = "backend-timed-out"
    /// Too many calls were waiting, or the backend was not contacted for a moment because it was unreachable. It did
    /// not act.
    case overloaded
    /// The backend carried out the call, and then the ledger could not be written.
    case ledgerFailed = "ledger-failed"
    /// The gateway stopped before the result was known.
    case unknownAtStop = "unknown-at-stop"
    /// The gateway crashed before the result was known.
    case unknownAfterCrash = "unknown-after-crash"
}

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
