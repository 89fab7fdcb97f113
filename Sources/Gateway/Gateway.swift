public import GatewayCore

/// The way of a call. `serve(_:)` is the whole policy, read from top to bottom; each phase takes what the one before has
/// established, and only that phase can make the value: what was not identified, admitted and recorded cannot be forwarded.
public struct Gateway: CallServing {
    private let parsing: Parsing
    private let authentication: Authentication
    private let authorization: Authorization
    private let repeating: Repeating
    private let limiting: Limiting
    private let rewriting: Rewriting
    private let recording: Recording
    private let forwarding: Forwarding
    private let settling: Settling
    private let answering: Answering
    private let refusing: Refusing

    /// Who is slowed down for wrong passwords.
    public let throttle: LoginThrottle
    /// What is remembered of passwords.
    public let verdicts: VerdictCache

    /// A gateway that decides by `rules` and reaches stores and backend through `ports`.
    public init(rules: GatewayRules, ports: GatewayPorts) {
        parsing = Parsing(rules)
        throttle = rules.throttle ?? LoginThrottle(clocks: ports.clocks)
        verdicts = rules.verdicts ?? VerdictCache(clocks: ports.clocks)
        authentication = Authentication(
            judging: Judging(
                chain: rules.authenticators, names: rules.names, rules: rules.authentication, limiter: rules.limiter,
                throttle: throttle, verdicts: verdicts,
                floor: RefusalFloor(
                    rules: rules.authentication, clocks: ports.clocks, loops: ports.loops,
                    randomness: ports.randomness),
                clocks: ports.clocks, loops: ports.loops, logger: ports.logger),
            sessions: ports.sessions)
        authorization = Authorization(
            rules, ledger: ports.ledger, sessions: ports.sessions, history: ports.history,
            historyLimiter: rules.limiter.beside([.history]), clocks: ports.clocks)
        repeating = Repeating(
            memory: rules.sends ?? SendMemory(clocks: ports.clocks), digester: ports.digester, limiter: rules.limiter,
            journal: ports.journal)
        limiting = Limiting(limiter: rules.limiter)
        rewriting = Rewriting(rules, digester: ports.digester, randomness: ports.randomness)
        recording = Recording(journal: ports.journal)
        forwarding = Forwarding(
            backend: ports.backend,
            encoder: UpstreamEncoder(rules),
            profile: rules.profile.backend, ledger: ports.ledger, clocks: ports.clocks, deadline: rules.backendDeadline)
        let challenges = ProblemDocument.challenges(for: rules.authenticators.takes)
        settling = Settling(
            client: rules.profile.client, journal: ports.journal, ledger: ports.ledger, sessions: ports.sessions,
            clocks: ports.clocks, challenges: challenges, logger: ports.logger)
        answering = Answering(
            chain: rules.authenticators, sessions: ports.sessions, journal: ports.journal, clocks: ports.clocks,
            randomness: ports.randomness, challenges: challenges, logger: ports.logger)
        refusing = Refusing(
            challenges: challenges, recording: RefusalRecording(journal: ports.journal, clocks: ports.clocks),
            logger: ports.logger)
    }

    /// Decides and carries out one call, from bytes to answer. A caller who is known is told how its limits stand.
    public func serve(_ request: ReceivedRequest) async -> Answer {
        var told: ToldCaller?
        do throws(Refusal) {
            let call = try parsing.parse(request)
            try forwarding.expectRoom(for: call)
            let caller = try await authentication.identify(call)
            told = ToldCaller(caller)
            let allowed = try await authorization.authorize(caller)
            let admitted: AdmittedCall
            switch try repeating.look(allowed) {
            case .repeated(let answer): return limiting.tell(told, answer)
            case .new(let fresh): admitted = try limiting.limit(fresh)
            }
            switch try rewriting.rewrite(admitted) {
            case .own(let plan):
                return limiting.tell(told, await answering.answer(try recording.record(plan)))
            case .upstream(let plan):
                let recorded = try await recording.record(plan)
                // From here on nothing throws and nothing is cancelled: every end is an outcome.
                return limiting.tell(told, await settling.settle(forwarding.forward(recorded)))
            }
        } catch {
            return limiting.tell(told, refusing.answer(error, of: request.id))
        }
    }

    /// Deletes a registration that is marked for it, at the backend and in the ledger: the way of a call that nobody makes.
    ///
    /// - Returns: whether there is nothing more to delete. Otherwise it stays marked, to be tried again.
    public func sweep(_ id: RegistrationID, as call: CallID) async -> Bool {
        do throws(Refusal) {
            guard let doomed = try await authorization.sweep(id, CallFacts(call: call, peer: .gateway)) else {
                return true
            }
            guard case .upstream(let plan) = try rewriting.rewrite(limiting.exempt(doomed)) else { return true }
            let recorded = try await recording.record(plan)
            return await settling.settle(forwarding.forward(recorded)).status == 200
        } catch {
            _ = refusing.answer(error, of: call)
            return false
        }
    }

    /// Writes down the refusals that were merged and are due; to be called once a second, and at the end with `all`.
    public func settleRefusals(all: Bool = false) { refusing.recording.settle(all: all) }

    /// The answer to a request that could not be framed.
    public func refuse(_ refusal: Refusal, id: CallID) -> Answer {
        refusing.answer(refusal, of: id)
    }
}
