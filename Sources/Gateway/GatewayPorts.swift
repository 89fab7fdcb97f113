public import GatewayCore
public import Logging

/// What a gateway reaches: the stores, the backend, the clocks.
public struct GatewayPorts: Sendable {
    /// Who owns which registration.
    public var ledger: any RegistrationLedger
    /// Who is logged in where, and what was revoked.
    public var sessions: any SessionStore
    /// Where calls are recorded.
    public var journal: any Journal
    /// Who notified whom, for recipients.
    public var history: any NotificationHistory
    /// The backend.
    public var backend: any Backend
    /// The clocks.
    public var clocks: Clocks
    /// What calls wait by.
    public var loops: any CallLoops
    /// Makes the digests by which messages are recognised in the journal.
    public var digester: KeyedDigester
    /// Random bits.
    public var randomness: @Sendable () -> UInt64
    /// Where refusals and faults are logged.
    public var logger: Logger
    /// Where calls are counted.
    public var metrics: CallMetrics

    /// Ports from their parts.
    public init(
        ledger: any RegistrationLedger, sessions: any SessionStore, journal: any Journal,
        history: any NotificationHistory, backend: any Backend,
        clocks: Clocks, loops: any CallLoops, digester: KeyedDigester,
        randomness: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) },
        logger: Logger, metrics: CallMetrics? = nil
    ) {
        self.ledger = ledger
        self.sessions = sessions
        self.journal = journal
        self.history = history
        self.backend = backend
        self.clocks = clocks
        self.loops = loops
        self.digester = digester
        self.randomness = randomness
        self.logger = logger
        self.metrics = metrics ?? CallMetrics(clocks: clocks)
    }
}
