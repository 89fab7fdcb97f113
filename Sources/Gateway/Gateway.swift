public import GatewayCore

/// The way of a call. `serve(_:)` is the whole policy, read from top to bottom; each phase takes what the one before has
/// established, and only that phase can make the value: what was not identified, admitted and recorded cannot be forwarded.
public struct Gateway: CallServing {
    private let parsing: Parsing
    private let authentication: Authentication
    private let authorization: Authorization
    private let limiting: Limiting
    private let rewriting: Rewriting
    private let recording: Recording
    private let forwarding: Forwarding
    private let settling: Settling
    private let refusing: Refusing

    /// Who is slowed down for wrong passwords.
    public let throttle: LoginThrottle
    /// What is remembered of passwords.
    public let verdicts: VerdictCache

    /// A gateway that decides by `rules` and reaches stores and backend through `ports`.
    public init(rules: GatewayRules, ports: GatewayPorts) {
        parsing = Parsing(
            routes: RouteTable(rules.profile.client), names: rules.names, handles: rules.handles,
            profile: rules.profile, messages: rules.messages)
        throttle = rules.throttle ?? LoginThrottle(clocks: ports.clocks)
        verdicts = rules.verdicts ?? VerdictCache(clocks: ports.clocks)
        authentication = Authentication(
            judging: Judging(
                chain: rules.authenticators, names: rules.names, rules: rules.authentication, limiter: rules.limiter,
                throttle: throttle, verdicts: verdicts,
                floor: RefusalFloor(
                    rules: rules.authentication, clocks: ports.clocks, loops: ports.loops,
                    randomness: ports.randomness),
                clocks: ports.clocks, loops: ports.loops, logger: ports.logger))
        authorization = Authorization(
            policy: rules.policy, sendRules: SendRules(rules.policy.send), ledger: ports.ledger,
            limiter: rules.limiter, clocks: ports.clocks)
        limiting = Limiting(limiter: rules.limiter)
        rewriting = Rewriting(
            payloadFrames: rules.profile.backend.allPayloadFrames(), digester: ports.digester,
            randomness: ports.randomness)
        recording = Recording(journal: ports.journal)
        forwarding = Forwarding(
            backend: ports.backend,
            encoder: UpstreamEncoder(
                backend: rules.profile.backend, host: rules.backendHost, credential: rules.credential),
            profile: rules.profile.backend, ledger: ports.ledger, clocks: ports.clocks, deadline: rules.backendDeadline)
        settling = Settling(
            client: rules.profile.client, journal: ports.journal, ledger: ports.ledger, clocks: ports.clocks,
            logger: ports.logger)
        refusing = Refusing(
            challenges: ProblemDocument.challenges(for: rules.authenticators.takes), journal: ports.journal,
            logger: ports.logger)
    }

    /// Decides and carries out one call, from bytes to answer.
    public func serve(_ request: ReceivedRequest) async -> Answer {
        do throws(Refusal) {
            let call = try parsing.parse(request)
            let caller = try await authentication.identify(call)
            let allowed = try await authorization.authorize(caller)
            let admitted = try limiting.limit(allowed)
            switch try rewriting.rewrite(admitted) {
            case .whoami(let identity):
                return .whoami(identity)
            case .upstream(let plan):
                let recorded = try await recording.record(plan)
                // From here on nothing throws and nothing is cancelled: every end is an outcome.
                return await settling.settle(forwarding.forward(recorded))
            }
        } catch {
            return refusing.answer(error, of: request.id)
        }
    }

    /// The answer to a request that could not be framed.
    public func refuse(_ refusal: Refusal, id: CallID) -> Answer {
        refusing.answer(refusal, of: id)
    }
}
