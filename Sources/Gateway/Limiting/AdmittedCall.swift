internal import GatewayCore

/// A call that is within the limits. Only limiting makes one.
struct AdmittedCall: ~Copyable {
    var facts: CallFacts
    let caller: Identity
    let permitted: Permitted

    fileprivate init(_ authorized: consuming AuthorizedCall) {
        facts = authorized.facts
        caller = authorized.caller
        permitted = authorized.permitted
    }
}

/// The fourth phase: is this not too much? Synchronous.
struct Limiting: Sendable {
    let limiter: Limiter

    func limit(_ authorized: consuming AuthorizedCall) throws(Refusal) -> AdmittedCall {
        let send = authorized.permitted.requestedSend
        do throws(Refusal) {
            try limiter.admit(authorized.caller.user, sending: send)
        } catch {
            throw error.with(authorized.facts)
        }
        return AdmittedCall(authorized)
    }

    /// What the gateway does by itself is nobody's to pay.
    func exempt(_ authorized: consuming AuthorizedCall) -> AdmittedCall { AdmittedCall(authorized) }
}
