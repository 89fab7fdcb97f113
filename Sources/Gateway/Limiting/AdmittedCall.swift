internal import GatewayCore

/// A call that is within the limits. Only limiting makes one.
struct AdmittedCall: ~Copyable {
    var facts: CallFacts
    let caller: Identity
    let permitted: Permitted
    /// Whom of its audience a send reaches; nil for every other call.
    let members: AdmittedMembers?
    /// The send's place among those with a key.
    let claim: SendClaim?

    fileprivate init(_ authorized: consuming AuthorizedCall, members: AdmittedMembers?) {
        self.members = members
        claim = authorized.claim
        facts = authorized.facts
        caller = authorized.caller
        permitted = authorized.permitted
    }
}

/// The fourth phase: is this not too much? Synchronous.
struct Limiting: Sendable {
    let limiter: Limiter

    @inline(never)
    func limit(
        _ authorized: consuming AuthorizedCall, _ payment: Limiter.Payment = .charged
    ) throws(Refusal) -> AdmittedCall {
        let send = authorized.permitted.requestedSend
        let audience = authorized.permitted.requestedAudience
        let (caller, peer) = (authorized.caller, authorized.facts.peer)
        var members: AdmittedMembers?
        do throws(Refusal) {
            if let audience {
                members = try limiter.admit(caller, at: peer, sending: audience.send, to: audience.members, payment)
                authorized.facts.wouldLimit = members?.shadowed ?? []
            } else {
                let shadowed = try limiter.admit(caller, at: peer, sending: send, payment)
                if !shadowed.isEmpty { authorized.facts.wouldLimit = shadowed }
            }
            // Only here: a send that the limits refuse must not push remembered sends out.
            try authorized.claim?.enter()
        } catch {
            throw error.with(authorized.facts)
        }
        return AdmittedCall(authorized, members: members)
    }

    /// Charges a call that a bound other than a limit refuses: who tries all day pays as for calls that are carried out.
    ///
    /// - Returns: the refusal that the caller is told of.
    func charge(_ refusal: Refusal, to caller: Identity, _ facts: CallFacts) -> Refusal {
        do throws(Refusal) {
            try limiter.admit(refusedCallOf: caller, at: facts.peer)
        } catch {
            return error.with(facts)
        }
        return refusal.with(facts)
    }

    /// Adds to the answer how the caller's own limits stand now.
    func tell(_ told: ToldCaller, _ answer: inout Answer) {
        let fields = limiter.fields(for: told.caller, isSend: told.isSend)
        if answer.fields.isEmpty { answer.fields = fields } else { answer.fields += fields }
    }

    /// What the gateway does by itself is nobody's to pay.
    func exempt(_ authorized: consuming AuthorizedCall) -> AdmittedCall { AdmittedCall(authorized, members: nil) }
}
