internal import GatewayCore

/// A call within its limits. Only the limit phase creates one.
struct AdmittedCall: ~Copyable {
    var facts: CallFacts
    let caller: Identity
    let revocation: CallerRevocationCheck
    let permitted: PermittedOperation
    /// The members of the audience that a send reaches; nil for other calls.
    let members: AudienceAdmission?
    /// The idempotency claim of the send.
    let claim: IdempotencyClaim?

    fileprivate init(_ deduplicated: consuming DeduplicatedCall, members: AudienceAdmission?) {
        self.members = members
        claim = deduplicated.claim
        let authorized = deduplicated.authorized
        facts = authorized.facts
        caller = authorized.caller
        revocation = authorized.revocation
        permitted = authorized.permitted
    }
}

/// The limit phase: checks the rate limits and charges the call to them. Synchronous.
struct Limiting: Sendable {
    let limiter: Limiter

    /// Charges the call to every limit that counts it. Throws if one of them is exhausted, and charges none then.
    @inline(never)
    func limit(
        _ deduplicated: consuming DeduplicatedCall, _ chargeMode: Limiter.ChargeMode = .charged
    ) throws(Rejection) -> AdmittedCall {
        let send = deduplicated.authorized.permitted.requestedSend
        let audience = deduplicated.authorized.permitted.requestedAudienceSend
        let (caller, peer) = (deduplicated.authorized.caller, deduplicated.authorized.facts.peer)
        var members: AudienceAdmission?
        do throws(Rejection) {
            if let audience {
                members = try limiter.admit(caller, at: peer, sending: audience.send, to: audience.members, chargeMode)
                deduplicated.authorized.facts.wouldLimit = members?.shadowRejected ?? []
            } else {
                let shadowRejected = try limiter.admit(caller, at: peer, sending: send, chargeMode)
                if !shadowRejected.isEmpty { deduplicated.authorized.facts.wouldLimit = shadowRejected }
            }
            // Stored only after admission, so that sends rejected by limits do not evict stored ones.
            try deduplicated.claim?.insert()
        } catch {
            throw error.with(deduplicated.authorized.facts)
        }
        return AdmittedCall(deduplicated, members: members)
    }

    /// Charges a call that is rejected for another reason than a limit, so that such attempts are limited too.
    ///
    /// - Returns: The rejection to send: that of a limit if one is exhausted, otherwise the given one.
    func charge(_ rejection: Rejection, to caller: Identity, _ facts: CallFacts) -> Rejection {
        do throws(Rejection) {
            try limiter.admit(rejectedCallOf: caller, at: facts.peer)
        } catch {
            return error.with(facts)
        }
        return rejection.with(facts)
    }

    /// Adds the state of the caller's own limits to the response.
    func addFields(for context: RateLimitContext, to response: inout Response) {
        let fields = limiter.fields(for: context.caller, isSend: context.isSend)
        if response.fields.isEmpty { response.fields = fields } else { response.fields += fields }
    }
}
