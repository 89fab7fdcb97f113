public import GatewayCore

/// Says what would become of a call: the phases of `Gateway.serve(_:)` up to the plan, for a caller who is taken at their word.
///
/// It has neither a journal nor a backend to go further with, charges no limit, and gives up each claim on the ledger as it
/// ends; a call that is under way for the same device is waited for. Off the way of a call, on any executor.
public struct CallExplainer: Sendable {
    private let parsing: Parsing
    private let authorization: Authorization
    private let limiting: Limiting
    private let rewriting: Rewriting
    private let encoder: UpstreamEncoder
    private let rules: GatewayRules
    private let sessions: any SessionStore

    /// An explainer of what a gateway with these rules and stores would do. For the limits' state as it is, the rules' limiter
    /// has to be that gateway's own.
    public init(
        rules: GatewayRules, ledger: any RegistrationLedger, sessions: any SessionStore, clocks: Clocks,
        digester: KeyedDigester, randomness: @escaping @Sendable () -> UInt64 = { .random(in: .min ... .max) }
    ) {
        parsing = Parsing(rules)
        // Reading the journal is dear, and what is in it decides nothing; so the limit for that is not asked either.
        authorization = Authorization(
            rules, ledger: ledger, sessions: sessions, history: UnreadHistory(),
            historyLimiter: Limiter([], clocks: clocks), clocks: clocks)
        limiting = Limiting(limiter: rules.limiter)
        rewriting = Rewriting(rules, digester: digester, randomness: randomness)
        encoder = UpstreamEncoder(rules)
        self.rules = rules
        self.sessions = sessions
    }

    /// The account that a password of this user would be judged by, as far as the authenticators can tell without one.
    public func lookUpAccount(of user: UserName, login: LoginName) async -> AccountLookup {
        await rules.authenticators.lookUpAccount(of: user, login: login)
    }

    /// What would become of the request, were it the caller's. What it says of credentials is not looked at.
    ///
    /// - Parameter login: the name that the caller would have logged in with, by a password.
    public func explain(_ request: ReceivedRequest, as caller: Identity, login: LoginName) async -> Explanation {
        var explanation = Explanation()
        do throws(Refusal) {
            let parsed = try parsing.parse(request)
            explanation.call = ExplainedCall(parsed.call)
            explanation.limits = limits(of: parsed.call, by: caller, at: request.peer)
            let assumed = Authentication.assume(caller, login: login, epoch: sessions.epoch, making: parsed)
            let allowed = try await authorization.authorize(assumed, .lookedAt)
            explanation.action = allowed.facts.action
            explanation.rule = allowed.facts.rule
            explanation.registration = allowed.facts.registration
            let admitted = try limiting.limit(allowed, .lookedAt)
            switch try rewriting.rewrite(admitted) {
            case .own:
                explanation.end = .answeredHere
            case .upstream(let plan):
                explanation.end = .forwarded(
                    requests(of: plan), skipped: plan.audience?.skipped.map(\.explained) ?? [])
            }
        } catch {
            explanation.action = error.facts?.action ?? explanation.action
            explanation.rule = error.facts?.rule ?? explanation.rule
            explanation.registration = error.facts?.registration ?? explanation.registration
            explanation.end = .refused(error, status: error.code.status)
        }
        return explanation
    }

    private func limits(of call: Call, by caller: Identity, at peer: Peer) -> [LimitStanding] {
        switch call {
        case .send(let send):
            return rules.limiter.standings(of: caller, at: peer, sending: send)
        case .sendToAudience(let send):
            let members = rules.policy.audiences[send.audience] ?? []
            return rules.limiter.standings(of: caller, at: peer, sending: send, to: members)
        case .create, .update, .delete, .own:
            return rules.limiter.standings(of: caller, at: peer, sending: nil)
        }
    }

    private func requests(of plan: borrowing UpstreamPlan) -> [ExplainedRequest] {
        let (caller, call) = (plan.caller.user, plan.facts.call)
        return plan.steps.flatMap { planned in
            var steps = [(planned.step, ExplainedRequest.Condition.always)]
            if case .reserve(.some) = planned.step { steps.append((.reserve(handle: nil), .ifIDIsAnothers)) }
            steps += planned.ifGone.map { ($0, .ifGone) }
            return steps.compactMap { step, condition in
                encoder.request(
                    for: step, caller: caller, reserved: "{id}",
                    UpstreamEncoder.Origin(call: call, trace: nil, span: 0)
                ).map {
                    ExplainedRequest(condition, $0, credential: rules.credential)
                }
            }
        }
    }
}

extension SkippedMember {
    fileprivate var explained: Explanation.Skipped { Explanation.Skipped(user: user, limit: limit) }
}

/// A history that nobody reads.
private struct UnreadHistory: NotificationHistory {
    func received(
        by user: UserName, since: WallTime?, limit: Int
    ) async throws(HistoryUnavailable) -> [ReceivedNotification] { [] }
}
