public import GatewayCore
internal import GatewaySupport
public import NIOCore
internal import Synchronization

/// The request pipeline. `serve(_:)` contains the complete sequence of phases. Each phase consumes the value of the
/// previous phase and returns one that only it can create. A call that was not authenticated, admitted and recorded
/// therefore cannot be forwarded.
///
/// The frame of an `async` function is heap-allocated for all of its local values, even if it never suspends.
/// Synchronous parts of a phase are therefore separate functions marked `@inline(never)`, which use the stack.
public struct Gateway: RequestResponder {
    private let parsing: Parsing
    let authentication: Authentication
    private let authorization: Authorization
    private let idempotency: Idempotency
    private let limiting: Limiting
    private let rewriting: Rewriting
    private let recording: Recording
    private let forwarding: Forwarding
    private let completion: Completion
    private let localEndpoints: LocalEndpoints
    private let providerLogouts: ProviderLogouts
    let rejectionResponder: RejectionResponder
    private let metrics: CallMetrics
    /// The tracer; nil if tracing is turned off.
    private let tracer: CallTracer?
    private let limitCounters: [String: Counter]
    private let callsInFlight: CallerConcurrencyLimit
    private let inFlightBounds: CallerConcurrencyLimit.Bounds

    /// The rate limit of failed logins.
    public let throttle: LoginThrottle
    /// The cache of password verification results.
    public let passwordCache: PasswordCache

    /// Creates a gateway that decides by `rules` and reaches stores and backend through `dependencies`.
    ///
    /// - Parameter previous: The gateway that this one replaces on a reload. Its counters of callers and its coalesced
    ///   rejections are kept, and its calls in progress complete under its own rules. Limiter, throttle, cache and
    ///   idempotency store come from `rules` if they are set there.
    public init(rules: CompiledConfiguration, dependencies: GatewayDependencies, replacing previous: Gateway? = nil) {
        parsing = Parsing(rules)
        throttle = rules.throttle ?? previous?.throttle ?? LoginThrottle(clocks: dependencies.clocks)
        passwordCache = rules.passwordCache ?? previous?.passwordCache ?? PasswordCache(clocks: dependencies.clocks)
        authentication = Authentication(
            credentialVerifier: CredentialVerifier(
                chain: rules.authenticators, names: rules.names, rules: rules.authentication, limiter: rules.limiter,
                throttle: throttle, passwordCache: passwordCache,
                knownTokens: previous?.authentication.credentialVerifier.knownTokens ?? KnownTokens(),
                failedLoginDelay: FailedLoginDelay(
                    rules: rules.authentication, clocks: dependencies.clocks, scheduler: dependencies.scheduler,
                    randomness: dependencies.randomness),
                clocks: dependencies.clocks, scheduler: dependencies.scheduler, logger: dependencies.logger),
            sessions: dependencies.sessions)
        let upstreams = UpstreamTable(rules.upstreams, clocks: dependencies.clocks)
        authorization = Authorization(
            rules, upstreams: upstreams, ledger: dependencies.ledger, sessions: dependencies.sessions,
            history: dependencies.history, historyLimiter: rules.limiter.adding([.history]),
            secure: rules.secureSends.map {
                SecureTextAccess(
                    rules: $0, store: dependencies.texts, missLimiter: rules.limiter.adding([.notificationMisses]))
            }, clocks: dependencies.clocks, digester: dependencies.digester
        ).counting(dependencies.metrics.matches(of: rules.policy.send.map(\.text)))
        idempotency = Idempotency(rules, dependencies, replacing: previous?.idempotency)
        limiting = Limiting(limiter: rules.limiter)
        let planner = dependencies.texts.flatMap { texts in
            rules.secureSends.map {
                SecureTextPlanner(destination: .store(texts), rules: $0, clocks: dependencies.clocks)
            }
        }
        rewriting = Rewriting(
            upstreams: upstreams, digester: dependencies.digester, randomness: dependencies.randomness,
            secure: planner)
        recording = Recording(journal: dependencies.journal)
        forwarding = Forwarding(
            upstreams: upstreams, backends: dependencies.backends, ledger: dependencies.ledger,
            clocks: dependencies.clocks)
        let challenges = ProblemDocument.challenges(for: rules.authenticators.credentialKinds)
        completion = Completion(
            client: rules.client, journal: dependencies.journal, ledger: dependencies.ledger,
            clocks: dependencies.clocks, digester: dependencies.digester, texts: dependencies.texts,
            challenges: challenges, logger: dependencies.logger)
        localEndpoints = LocalEndpoints(
            chain: rules.authenticators, authentication: rules.authentication, sessions: dependencies.sessions,
            journal: dependencies.journal, clocks: dependencies.clocks, randomness: dependencies.randomness,
            forwarding: forwarding, texts: dependencies.texts, challenges: challenges, logger: dependencies.logger)
        providerLogouts = ProviderLogouts(
            receivers: rules.authenticators.logoutReceivers, limiter: rules.limiter, sessions: dependencies.sessions,
            journal: dependencies.journal, logger: dependencies.logger)
        rejectionResponder = RejectionResponder(
            challenges: challenges,
            recording: previous?.rejectionResponder.recording
                ?? RejectionRecorder(journal: dependencies.journal, clocks: dependencies.clocks),
            logins: previous?.rejectionResponder.logins
                ?? FailedLoginRecorder(
                    journal: dependencies.journal, clocks: dependencies.clocks, throttle: throttle, names: rules.names),
            log: previous?.rejectionResponder.log ?? RejectionLog(clocks: dependencies.clocks),
            logger: dependencies.logger)
        callsInFlight = previous?.callsInFlight ?? CallerConcurrencyLimit()
        inFlightBounds = rules.callsInFlight
        metrics = dependencies.metrics
        tracer = rules.tracing.flatMap { sampling in
            dependencies.spans.map { CallTracer(sampling, recorder: $0, clocks: dependencies.clocks) }
        }
        limitCounters = metrics.counters(
            ofLimits: (rules.limiter.limits + [.history, .notificationMisses]).map(\.name) + LoginThrottle.names + [
                FailedLoginDelay.limitName
            ]
                + CallerConcurrencyLimit.names)
    }

    /// Processes one call from the received request to the response. The response to an authenticated caller includes
    /// the state of its limits.
    public func serve(_ request: consuming ReceivedRequest) async -> Response {
        var phases = PhaseTimer(metrics)
        var rateLimitContext: RateLimitContext?
        var permits = CallerConcurrencyLimit.Permits()
        defer { callsInFlight.release(permits) }
        do throws(Rejection) {
            var call = try parsing.parse(request)
            // The call has what it needs of the body, and may wait for long.
            request.body = ByteBuffer()
            phases.spans = tracer?.start(&call.facts, of: request, parsing.routes, at: phases.start)
            try countInFlight(for: call, of: request, &permits)
            try forwarding.checkCapacity(for: call)
            phases.enter(.authenticate)
            if case .local(.providerLogout(let token)) = call.call {
                let response = try await providerLogouts.response(to: token, call)
                return finish(.providerLogout, response, nil, phases)
            }
            let caller = try await authentication.authenticate(call)
            try countInFlight(for: caller, &permits)
            rateLimitContext = RateLimitContext(caller)
            phases.enter(.authorize)
            let allowed = try await authorization.authorize(caller)
            try request.clientDisconnect.check()
            let action = allowed.facts.action
            phases.spans?.setRule(allowed.facts.rule)
            phases.enter(.deduplicate)
            let admitted: AdmittedCall
            switch try idempotency.deduplicate(allowed) {
            case .repeated(let response): return finish(action, response, rateLimitContext, phases)
            case .new(let deduplicated):
                phases.enter(.limit)
                admitted = try limiting.limit(deduplicated)
            case .deferred(let send):
                switch try await idempotency.deduplicate(send) {
                case .repeated(let response): return finish(action, response, rateLimitContext, phases)
                case .new(let deduplicated):
                    try request.clientDisconnect.check()
                    phases.enter(.limit)
                    admitted = try limiting.limit(deduplicated)
                }
            }
            phases.enter(.rewrite)
            switch try rewriting.rewrite(admitted) {
            case .local(let plan):
                phases.enter(.record)
                let recorded = try await recording.record(plan)
                phases.enter(.respond)
                return finish(action, await localEndpoints.response(recorded, phases.spans), rateLimitContext, phases)
            case .upstream(let plan):
                phases.enter(.record)
                let recorded = try await recording.record(plan)
                // From here on nothing throws and nothing is cancelled; every result is recorded as an outcome.
                phases.enter(.forward)
                let forwarded = await forwarding.forward(recorded, phases.spans)
                phases.enter(.complete)
                let superseded = forwarded.outcome.superseded
                let response = await completion.complete(forwarded)
                if !superseded.isEmpty { await deleteSuperseded(superseded) }
                return finish(action, response, rateLimitContext, phases)
            }
        } catch {
            if case .limit(let name, _) = error.extra { limitCounters[name]?.add() }
            if tracer != nil { trace(error, of: request, &phases) }
            return finish(
                error.facts?.action, rejectionResponder.response(error, of: request.id), rateLimitContext, phases)
        }
    }

    /// Counts a call in flight for its address. A call that cannot be parsed does not get here and is rejected at once.
    @inline(never)
    private func countInFlight(
        for call: borrowing ParsedCall, of request: ReceivedRequest, _ permits: inout CallerConcurrencyLimit.Permits
    ) throws(Rejection) {
        guard request.addressIdentifiesClient, request.peer.address != .local else { return }
        do throws(Rejection) {
            try callsInFlight.acquire(request.peer.limitKey, inFlightBounds, &permits)
        } catch {
            throw error.with(call.facts)
        }
    }

    /// Counts a call in flight for its caller, unless the gateway serves it without the backend. A rejected call is
    /// charged to the limits nevertheless.
    @inline(never)
    private func countInFlight(
        for authenticated: borrowing AuthenticatedCall, _ permits: inout CallerConcurrencyLimit.Permits
    ) throws(Rejection) {
        if case .local = authenticated.call { return }
        do throws(Rejection) {
            try callsInFlight.acquire(authenticated.caller.user, inFlightBounds, &permits)
        } catch {
            throw limiting.charge(error, to: authenticated.caller, authenticated.facts)
        }
    }

    /// Adds a rejection to the spans of the call. Starts them if the request could not be parsed.
    @inline(never)
    private func trace(_ rejection: Rejection, of request: ReceivedRequest, _ phases: inout PhaseTimer) {
        guard var facts = rejection.facts else { return }
        if phases.spans == nil { phases.spans = tracer?.start(&facts, of: request, parsing.routes, at: phases.start) }
        phases.spans?.setRule(facts.rule)
    }

    /// Adds the limit fields to the response and updates the metrics.
    @inline(never)
    private func finish(
        _ action: Action?, _ response: consuming Response, _ rateLimitContext: RateLimitContext?, _ phases: PhaseTimer
    ) -> Response {
        if let rateLimitContext { limiting.addFields(for: rateLimitContext, to: &response) }
        phases.finish(action, status: response.status, response.rejection)
        return response
    }

    /// Deletes a registration that is marked for deletion, at the backend and in the ledger. The deletion is recorded,
    /// forwarded and completed like that of a call.
    ///
    /// - Returns: Whether nothing remains to be deleted now. If false, the registration stays marked for another
    ///   attempt.
    public func sweep(_ id: RegistrationID, as call: CallID) async -> Bool {
        do throws(Rejection) {
            guard let pendingDeletion = try await authorization.sweep(id, CallFacts(call: call, peer: .gateway)) else {
                return true
            }
            let recorded = try await recording.record(rewriting.planSweep(pendingDeletion))
            return await completion.completeSweep(forwarding.forward(recorded))
        } catch {
            _ = rejectionResponder.response(error, of: call)
            return false
        }
    }

    /// Deletes a device's other registrations before the response to the device, so that nothing for their owners reaches
    /// it. A failed deletion, and those after it, are left to the sweeper.
    @inline(never)
    private func deleteSuperseded(_ ids: [RegistrationID]) async {
        for id in ids {
            guard await sweep(id, as: Self.callIDs.withLock({ $0.next() })) else { return }
        }
    }

    /// The ids of the gateway's own deletions, which no client's call shares.
    private static let callIDs = Mutex(CallIDGenerator())

    /// Records and logs the coalesced rejections that are due. Called once a second, and with `all` at the end.
    public func flushRejections(all: Bool = false) { rejectionResponder.flush(all: all) }

    /// Returns whether the path belongs to a call that needs the backend. Called only while such calls use up
    /// the in-flight limit.
    public func needsBackend(_ path: ByteBuffer) -> Bool { parsing.routes.needsBackend(path) }

    /// Returns the response to a request that could not be framed.
    public func reject(_ rejection: Rejection, id: CallID) -> Response {
        metrics.count(rejection.code)
        return rejectionResponder.response(rejection, of: id)
    }
}
