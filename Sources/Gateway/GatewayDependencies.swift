public import GatewayCore
public import GatewaySupport
public import Logging

/// The external dependencies of a gateway: stores, backend, clocks and timers.
public struct GatewayDependencies: Sendable {
    /// The ledger of registrations and their owners.
    public var ledger: any RegistrationLedger
    /// The sessions and revocations.
    public var sessions: any SessionStore
    /// The audit journal.
    public var journal: any Journal
    /// The notifications that recipients received, for queries.
    public var history: any NotificationHistory
    /// The texts of secure sends; nil if there are none.
    public var texts: (any SecureTextStore)?
    /// The sends with an idempotency key, if several gateways share the store; nil for the sends of this gateway in memory.
    public var keyedSends: (any KeyedSendRegister)?
    /// The upstreams, in the order of the configuration's.
    public var backends: [any Backend]
    /// The clocks.
    public var clocks: Clocks
    /// The scheduler of timers and tasks on the event loop of a call.
    public var scheduler: any CallScheduler
    /// The keyed digester of message texts and idempotency keys. The journal identifies texts by their digests.
    public var digester: KeyedDigester
    /// A source of random bits.
    public var randomness: @Sendable () -> UInt64
    /// The logger of rejections and internal errors.
    public var logger: Logger
    /// The metrics of calls.
    public var metrics: CallMetrics
    /// The destination of the spans of sampled calls; nil for none.
    public var spans: (any SpanRecorder)?

    /// Creates dependencies.
    public init(
        ledger: any RegistrationLedger, sessions: any SessionStore, journal: any Journal,
        history: any NotificationHistory, texts: (any SecureTextStore)? = nil, backends: [any Backend],
        clocks: Clocks, scheduler: any CallScheduler, digester: KeyedDigester,
        randomness: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) },
        logger: Logger, metrics: CallMetrics? = nil
    ) {
        self.ledger = ledger
        self.sessions = sessions
        self.journal = journal
        self.history = history
        self.texts = texts
        self.backends = backends
        self.clocks = clocks
        self.scheduler = scheduler
        self.digester = digester
        self.randomness = randomness
        self.logger = logger
        self.metrics = metrics ?? CallMetrics(clocks: clocks)
    }
}

/// A scheduler of timers and tasks on the event loop that a call runs on. `GatewayHTTP` implements it.
///
/// No operation may leave the loop, so that a call never changes threads because it waited.
public protocol CallScheduler: Sendable {
    /// Runs the work on the current event loop after the given time, unless the timer is cancelled first.
    func schedule(after time: Duration, _ work: @escaping @Sendable () -> Void) -> any CallTimer

    /// Starts a task on the current event loop. The task runs synchronously up to its first suspension, and resumes on
    /// the loop after each one.
    @discardableResult func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never>
}

/// Scheduled work.
public protocol CallTimer: Sendable {
    /// Cancels the work if it has not begun.
    func cancel()
}
