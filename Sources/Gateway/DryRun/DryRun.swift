public import GatewayCore
public import GatewaySupport

/// A dry run of a call: the phases of `Gateway.serve(_:)` up to the plan, for a caller whose identity is assumed.
///
/// It has neither a journal nor a backend, charges no limit, and releases each ledger claim. It waits for a call in
/// progress for the same device. It is not part of the request pipeline and runs on any executor.
public struct DryRun: Sendable {
    private let parsing: Parsing
    private let authorization: Authorization
    private let limiting: Limiting
    private let rewriting: Rewriting
    private let rules: CompiledConfiguration
    private let sessions: any SessionStore

    /// Creates a dry run for a gateway with these rules and stores. The limits' current state is visible only if
    /// `rules` has that gateway's own limiter.
    public init(
        rules: CompiledConfiguration, ledger: any RegistrationLedger, sessions: any SessionStore, clocks: Clocks,
        digester: KeyedDigester, randomness: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) }
    ) {
        parsing = Parsing(rules)
        // Querying the journal is expensive and does not affect the result, so neither the history nor its limit is
        // used.
        let upstreams = UpstreamTable(rules.upstreams, clocks: clocks)
        authorization = Authorization(
            rules, upstreams: upstreams, ledger: ledger, sessions: sessions, history: UnusedHistory(),
            historyLimiter: Limiter([], clocks: clocks),
            secure: rules.secureSends.map {
                SecureTextAccess(rules: $0, store: nil, missLimiter: Limiter([], clocks: clocks))
            }, clocks: clocks, digester: digester)
        limiting = Limiting(limiter: rules.limiter)
        rewriting = Rewriting(
            upstreams: upstreams, digester: digester, randomness: randomness,
            secure: rules.secureSends.map { SecureTextPlanner(destination: .dryRun, rules: $0, clocks: clocks) })
        self.rules = rules
        self.sessions = sessions
    }

    /// Returns the account against which this user's password would be verified, as far as that can be determined
    /// without a password.
    public func lookUpAccount(of user: UserName, login: LoginName) async -> AccountLookup {
        await rules.authenticators.lookUpAccount(of: user, login: login)
    }

    /// Returns what the authenticators say of a token, with the groups that its account still has.
    public func lookUpToken(_ token: Secret, from peer: Peer) async -> TokenLookup {
        var lookup = await rules.authenticators.lookUpToken(token, from: peer)
        if case .valid(let identity) = lookup.inspection.result, let reference = identity.token,
            let groups = sessions.groups(behind: reference, of: identity.user)
        {
            lookup.inspection.result = .valid(identity.limited(to: groups))
        }
        return lookup
    }

    /// Returns the result that the request would have if the caller made it. The credential in the request is ignored.
    ///
    /// - Parameter login: The name that the caller would log in with.
    public func explain(_ request: ReceivedRequest, as caller: Identity, login: LoginName) async -> Explanation {
        var explanation = Explanation()
        do throws(Rejection) {
            let parsed = try parsing.parse(request)
            explanation.call = ExplainedCall(parsed.call)
            explanation.limits = limits(of: parsed.call, by: caller, at: request.peer)
            let assumed = Authentication.assume(caller, login: login, epoch: sessions.epoch, making: parsed)
            let allowed = try await authorization.authorize(assumed, .dryRun)
            explanation.action = allowed.facts.action
            explanation.rule = allowed.facts.rule
            explanation.fence = allowed.facts.fence
            explanation.isSecure = allowed.facts.isSecure
            explanation.registration = allowed.facts.registration
            let admitted = try limiting.limit(Idempotency.exempt(allowed), .dryRun)
            switch try rewriting.rewrite(admitted) {
            case .local:
                explanation.outcome = .servedLocally
            case .upstream(let plan):
                explanation.outcome = .forwarded(
                    requests(of: plan), skipped: plan.audience?.skipped.map(\.explained) ?? [])
            }
        } catch {
            explanation.action = error.facts?.action ?? explanation.action
            explanation.rule = error.facts?.rule ?? explanation.rule
            explanation.fence = error.facts?.fence ?? explanation.fence
            explanation.registration = error.facts?.registration ?? explanation.registration
            explanation.outcome = .rejected(error, status: error.code.status)
        }
        return explanation
    }

    private func limits(of call: Call, by caller: Identity, at peer: Peer) -> [LimitStatus] {
        switch call {
        case .send(let send, _):
            return rules.limiter.statuses(of: caller, at: peer, sending: send)
        case .sendToAudience(let send, _):
            let members = rules.policy.audiences[send.audience] ?? []
            return rules.limiter.statuses(of: caller, at: peer, sending: send, to: members)
        case .registration, .local:
            return rules.limiter.statuses(of: caller, at: peer, sending: nil)
        }
    }

    private func requests(of plan: borrowing UpstreamPlan) -> [ExplainedRequest] {
        let (caller, call, codec) = (plan.caller.user, plan.facts.call, plan.upstream.codec)
        return plan.steps.flatMap { planned in
            var steps = [(planned.step, ExplainedRequest.Condition.always)]
            if case .reserve(.some) = planned.step { steps.append((.reserve(handle: nil), .ifIDIsTaken)) }
            steps += planned.ifGone.map { ($0, .ifGone) }
            return steps.compactMap { step, condition in
                codec.request(
                    for: step, caller: caller, reserved: "{id}",
                    RequestOrigin(call: call, trace: nil, span: 0)
                ).map {
                    ExplainedRequest(condition, $0, hiding: codec.credentialField)
                }
            }
        }
    }
}

extension SkippedMember {
    fileprivate var explained: Explanation.Skipped { Explanation.Skipped(user: user, limit: limit) }
}

/// An empty history, because the dry run does not query the journal.
private struct UnusedHistory: NotificationHistory {
    func received(
        by user: UserName, since: WallTime?, limit: Int
    ) async throws(HistoryUnavailable) -> [ReceivedNotification] { [] }
}
