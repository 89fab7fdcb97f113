import GatewayTesting
import Logging
import NIOCore

@testable import Gateway
@testable import GatewayCore
@testable import GatewaySupport

/// The phases of the request pipeline up to the last one of a measurement. No phase waits: the journal stores nothing,
/// and the backend's response is ready.
private final class Pipeline {
    private let parsing: Parsing
    private let authentication: Authentication
    private let authorization: Authorization
    private let limiting: Limiting
    private let rewriting: Rewriting
    private let gateway: Gateway

    init(_ chain: AuthenticatorChain, tracing: TraceSampling? = nil) async {
        let clocks = Clocks.system
        let manual = ManualClock()
        let sessions = MemorySessions(clock: manual)
        let ledger = ScriptedLedger(deciding: ScriptedLedger.emptyLedgerDecision)
        let scheduler = ManualScheduler(clock: manual)
        let digester = KeyedDigester(key: Secret(Array(repeating: 7, count: 32)))
        let logger = Logger(label: "benchmark") { _ in SwiftLogNoOpLogHandler() }
        var rules = TestGateway.rules(clock: manual)
        rules.authenticators = chain
        rules.tracing = tracing
        rules.limiter = Limiter(Limit.ample, clocks: clocks)
        parsing = Parsing(rules)
        authentication = Authentication(
            credentialVerifier: CredentialVerifier(
                chain: chain, names: rules.names, rules: rules.authentication, limiter: rules.limiter,
                throttle: LoginThrottle(clocks: clocks), passwordCache: PasswordCache(clocks: clocks),
                knownTokens: KnownTokens(),
                failedLoginDelay: FailedLoginDelay(
                    rules: rules.authentication, clocks: clocks, scheduler: scheduler, randomness: { 7 }),
                clocks: clocks, scheduler: scheduler, logger: logger),
            sessions: sessions)
        let upstreams = UpstreamTable(rules.upstreams, clocks: clocks)
        authorization = Authorization(
            rules, upstreams: upstreams, ledger: ledger, sessions: sessions, history: ScriptedHistory(),
            historyLimiter: rules.limiter.adding([.history]), secure: nil, clocks: clocks, digester: digester)
        limiting = Limiting(limiter: rules.limiter)
        rewriting = Rewriting(upstreams: upstreams, digester: digester, randomness: { 7 }, secure: nil)
        var dependencies = GatewayDependencies(
            ledger: ledger, sessions: sessions, journal: DiscardingJournal(), history: ScriptedHistory(),
            backends: [ReadyBackend()], clocks: clocks, scheduler: scheduler, digester: digester, logger: logger)
        dependencies.spans = DiscardingRecorder()
        gateway = Gateway(rules: rules, dependencies: dependencies)
    }

    func parse(_ request: ReceivedRequest, as action: Action) throws -> Bool {
        try parsing.parse(request).facts.action == action
    }

    func authenticate(_ request: ReceivedRequest) async throws -> Bool {
        try await authentication.authenticate(parsing.parse(request)).caller.user == Sample.user
    }

    func authorize(_ request: ReceivedRequest) async throws -> Bool {
        try await authorization.authorize(authentication.authenticate(parsing.parse(request))).facts.rule == "send[0]"
    }

    func limit(_ request: ReceivedRequest) async throws -> Bool {
        let allowed = try await authorization.authorize(authentication.authenticate(parsing.parse(request)))
        return try limiting.limit(Idempotency.exempt(allowed)).facts.wouldLimit.isEmpty
    }

    func rewrite(_ request: ReceivedRequest) async throws -> Bool {
        let allowed = try await authorization.authorize(authentication.authenticate(parsing.parse(request)))
        switch try rewriting.rewrite(limiting.limit(Idempotency.exempt(allowed))) {
        case .upstream(let plan): return plan.steps.count == 1 && plan.facts.digest != nil
        case .local: return false
        }
    }

    func reject() -> Bool {
        let rejection = Rejection(.overloaded, "too many calls are in flight", extra: .retryAfter(seconds: 1))
        return gateway.reject(rejection, id: CallID(process: 1, number: 2)).status == 503
    }

    func serve(_ request: ReceivedRequest) async -> Bool { await gateway.serve(request).status == 200 }
}

private struct DiscardingJournal: Journal {
    func record(_ records: [JournalRecord]) async throws(JournalUnavailable) {}
    func record(_ record: JournalRecord) async throws(JournalUnavailable) {}
    func append(_ record: JournalRecord) {}
}

private struct DiscardingRecorder: SpanRecorder {
    func record(_ spans: CallSpans) {}
}

private struct ReadyBackend: Backend {
    func exchange(_ request: borrowing RecordedRequest) async -> BackendResult {
        request.bytes.readableBytes > 0 ? .responded(BackendResponse(status: 200)) : .broken("nothing was sent")
    }
}

private let fixed = AuthenticatorChain([
    .init(
        name: FixedAuthenticator.name, credentialKinds: [.password],
        authenticator: FixedAuthenticator(passwords: ["alice": TestGateway.password(of: "alice")]))
])

func measurePipeline() {
    let password = Sample.request(.basic("alice", TestGateway.password(of: "alice")))
    measure("parse-a-send") {
        await Pipeline(fixed)
    } _: {
        try $0.parse(password, as: .send)
    }
    measure("parse-a-registration") {
        await Pipeline(fixed)
    } _: {
        try $0.parse(Sample.registration, as: .registerUpdate)
    }
    measureWaiting("parse-and-authenticate-by-a-known-password") {
        await Pipeline(fixed)
    } _: {
        try await $0.authenticate(password)
    }
    func measurePhases(
        _ name: String, tracing: TraceSampling? = nil,
        _ operation: @escaping (Pipeline, ReceivedRequest) async throws -> Bool
    ) {
        measureWaiting(name) {
            let tokens = try await Tokens(count: 1)
            return (await Pipeline(tokens.chain, tracing: tracing), Sample.request(.text("Bearer \(tokens.texts[0])")))
        } _: { (pipeline, request) in
            try await operation(pipeline, request)
        }
    }
    measure("reject-a-call-beyond-the-in-flight-limit") {
        await Pipeline(fixed)
    } _: {
        $0.reject()
    }
    measurePhases("parse-and-authenticate-by-a-token") { try await $0.authenticate($1) }
    measurePhases("up-to-authorize") { try await $0.authorize($1) }
    measurePhases("up-to-limit") { try await $0.limit($1) }
    measurePhases("up-to-rewrite") { try await $0.rewrite($1) }
    measurePhases("serve-a-send") { await $0.serve($1) }
    measurePhases("serve-a-send-not-sampled", tracing: TraceSampling(ratio: 0)) { await $0.serve($1) }
    measurePhases("serve-a-sampled-send", tracing: TraceSampling(ratio: 1)) { await $0.serve($1) }
}
