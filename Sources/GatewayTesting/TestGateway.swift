public import Gateway
public import GatewayCore
internal import GatewaySupport
internal import Logging

/// A gateway with test doubles for its clock, ledger, journal, backend and users. It uses no socket and no file, and
/// does not wait.
///
/// The users are alice, bob, carol and eve; alice is in the group `dispatch`. By default every user may notify every
/// user and register any tag `topic:…`.
public struct TestGateway: Sendable {
    /// The clock.
    public let clock: ManualClock
    /// The timers of calls, on `clock`.
    public let scheduler: ManualScheduler
    /// The events of the test doubles, in order.
    public let timeline: Timeline
    /// The ledger.
    public let ledger: ScriptedLedger
    /// The sessions.
    public let sessions: MemorySessions
    /// The journal.
    public let journal: MemoryJournal
    /// The notification history of recipients.
    public let history = ScriptedHistory()
    /// The texts of secure sends.
    public let texts: MemorySecureTexts
    /// The spans of sampled calls, if `adjust` turned tracing on.
    public let spans = MemorySpans()
    /// The backend.
    public let backend: ScriptedBackend
    /// The gateway.
    public let gateway: Gateway

    /// The users who may log in.
    public static let users = ["alice", "bob", "carol", "eve"]

    /// Returns a user's password.
    public static func password(of user: String) -> String { "\(user)'s secret" }

    /// Returns the default rules.
    public static func rules(_ profile: BackendProfile.BuiltIn = .classic, clock: ManualClock) -> CompiledConfiguration
    {
        let authenticator = FixedAuthenticator(
            passwords: Dictionary(uniqueKeysWithValues: users.map { ($0, password(of: $0)) }),
            tokens: ["alices-token": "alice"], groups: ["alice": [GroupName("dispatch")!]])
        return CompiledConfiguration(
            names: NameRules(), client: BackendProfile(profile).client,
            upstreams: [UpstreamRules(backend: BackendProfile(profile).backend, host: "backend.test")],
            authenticators: AuthenticatorChain([
                .init(
                    name: FixedAuthenticator.name, credentialKinds: [.password, .bearer], authenticator: authenticator)
            ]),
            // Failed logins are answered without a delay, unless a test sets one.
            authentication: AuthenticationRules(failedLoginDelay: .zero, failedLoginJitter: .zero),
            policy: Policy(
                send: [.init(from: .anyUser, to: .anyUser)],
                tags: [.init(user: .anyUser, allow: [TagPattern("topic:*")!])]),
            limiter: Limiter(Limit.defaults, clocks: clock.clocks))
    }

    /// Creates a gateway. `adjust` changes the default rules; `others` are the backends of the rules' further upstreams.
    /// With `keyedSends`, sends with an idempotency key are in that register.
    public init(
        _ profile: BackendProfile.BuiltIn = .classic, adjust: (inout CompiledConfiguration) -> Void = { _ in },
        answering response: @escaping @Sendable (CapturedRequest) async -> BackendResult = ScriptedBackend
            .alwaysSucceeds,
        deciding decide: @escaping @Sendable (LedgerRequest) -> LedgerDecision = ScriptedLedger.emptyLedgerDecision,
        others: [any Backend] = [], keyedSends: (any KeyedSendRegister)? = nil
    ) {
        let clock = ManualClock()
        let timeline = Timeline()
        self.clock = clock
        scheduler = ManualScheduler(clock: clock)
        self.timeline = timeline
        ledger = ScriptedLedger(timeline: timeline, deciding: decide)
        sessions = MemorySessions(clock: clock)
        journal = MemoryJournal(timeline: timeline)
        texts = MemorySecureTexts(timeline: timeline)
        backend = ScriptedBackend(timeline: timeline, answering: response)
        var rules = Self.rules(profile, clock: clock)
        adjust(&rules)
        var dependencies = Self.dependencies(
            clock: clock, scheduler: scheduler, ledger: ledger, sessions: sessions, journal: journal,
            history: history, texts: texts, backend: backend, others: others)
        dependencies.spans = spans
        dependencies.keyedSends = keyedSends
        gateway = Gateway(rules: rules, dependencies: dependencies)
    }

    /// Returns ports to the given test doubles. The random bits are constant.
    public static func dependencies(
        clock: ManualClock, scheduler: (any CallScheduler)? = nil, ledger: any RegistrationLedger,
        sessions: (any SessionStore)? = nil, journal: any Journal, history: any NotificationHistory = ScriptedHistory(),
        texts: (any SecureTextStore)? = nil, backend: any Backend, others: [any Backend] = []
    ) -> GatewayDependencies {
        GatewayDependencies(
            ledger: ledger, sessions: sessions ?? MemorySessions(clock: clock), journal: journal,
            history: history, texts: texts, backends: [backend] + others, clocks: clock.clocks,
            scheduler: scheduler ?? ManualScheduler(clock: clock),
            digester: KeyedDigester(key: Secret(Array(repeating: 7, count: 32))),
            randomness: { 0x0123_4567_89AB_CDEF }, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Serves one request.
    public func serve(_ request: consuming ReceivedRequest) async -> Response { await gateway.serve(request) }
}
