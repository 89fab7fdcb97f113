internal import GatewayCore

/// A call of which it is known who makes it. Only authentication makes one.
struct IdentifiedCall: ~Copyable {
    var facts: CallFacts
    let call: Call
    let caller: Identity

    fileprivate init(facts: CallFacts, call: Call, caller: Identity) {
        self.facts = facts
        self.call = call
        self.caller = caller
    }
}

/// The second phase: who is the caller? Waits where an authenticator has to.
struct Authentication: Sendable {
    let chain: AuthenticatorChain
    let names: NameRules
    let limiter: Limiter

    func identify(_ parsed: consuming ParsedCall) async throws(Refusal) -> IdentifiedCall {
        var facts = parsed.facts
        do throws(Refusal) {
            guard case .single(let field) = parsed.authorization else {
                throw Refusal(.credentialsMissing, "no Authorization")
            }
            // Not judged: whoever can read the connection has the credential already, and an answer would confirm it.
            guard parsed.credentialsMayTravel else {
                throw Refusal(
                    .insecureTransport, "a credential on a plaintext listener",
                    hint: "Credentials are taken over TLS only.")
            }
            // The address pays before a credential is looked at, and gets it back for a good one.
            let ticket = try limiter.admitLogin(from: facts.peer)
            let presented = try PresentedCredential(field, names: names)
            facts.attempted = presented.name
            let outcome = await chain.authenticate(presented.credential, from: facts.peer)
            // Nor does it pay for an authenticator that cannot tell: that is no failed login.
            if outcome.isFreeOfCharge { limiter.giveBack(ticket) }
            let caller = try judged(outcome)
            facts.user = caller.user
            facts.authenticator = caller.authenticator
            facts.attempted = nil
            return IdentifiedCall(facts: facts, call: parsed.call, caller: caller)
        } catch {
            throw error.with(facts)
        }
    }

    private func judged(_ outcome: AuthenticationOutcome) throws(Refusal) -> Identity {
        switch outcome {
        case .accepted(let identity):
            return identity
        case .notMine:
            throw Refusal(.credentialsRejected, RejectionReason.wrong.rawValue)
        case .rejected(.unmapped):
            throw Refusal(.identityUnmapped, "the name has no canonical form")
        case .rejected(let reason):
            throw Refusal(.credentialsRejected, reason.rawValue)
        case .unavailable(let reason):
            throw Refusal(.authenticatorUnavailable, reason.rawValue, extra: .retryAfter(seconds: 5))
        }
    }
}

extension AuthenticationOutcome {
    fileprivate var isFreeOfCharge: Bool {
        switch self {
        case .accepted, .unavailable: true
        case .notMine, .rejected: false
        }
    }
}
