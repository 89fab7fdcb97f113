internal import GatewayCore
internal import GatewaySupport

/// A call that repeats no earlier send. Only the deduplicate phase creates one.
struct DeduplicatedCall: ~Copyable {
    var authorized: AuthorizedCall
    /// The idempotency claim of a send with a key, which the limit phase stores when it admits the send; nil for every
    /// other call.
    let claim: IdempotencyClaim?

    fileprivate init(_ authorized: consuming AuthorizedCall, claim: IdempotencyClaim? = nil) {
        self.authorized = authorized
        self.claim = claim
    }
}

/// The result of the synchronous part of the deduplicate phase.
enum DeduplicationResult: ~Copyable {
    case new(DeduplicatedCall)
    /// The response to send instead of repeating the send.
    case repeated(Response)
    /// The call is a send with a key, and whether it is new is in the shared register, or in the part of the journal that a
    /// start has not read yet.
    case deferred(DeferredSend)
}

/// A send with a key that waits for the shared register, or for the journal after a start. Only the deduplicate phase creates
/// one.
struct DeferredSend: ~Copyable {
    fileprivate let authorized: AuthorizedCall
    fileprivate let send: KeyedSend

    fileprivate init(_ authorized: consuming AuthorizedCall, _ send: KeyedSend) {
        self.authorized = authorized
        self.send = send
    }
}

/// The decision on a send with a key.
enum KeyedSendDecision: ~Copyable {
    case new(DeduplicatedCall)
    /// The response to send instead of repeating the send.
    case repeated(Response)
}

/// The deduplicate phase, between authorize and limit: finds an earlier send with the same key.
///
/// A send without a key is always new. Without a shared register the phase is synchronous once the journal has been read, and
/// the limit phase stores a new send in memory when it admits it. With one, the phase stores a new send durably; if the call is
/// rejected later, its claim removes it.
struct Idempotency: Sendable {
    /// The sends of this gateway. Not used with a shared register.
    let store: IdempotencyStore
    /// The register that several gateways share; nil for a gateway with a store of its own.
    let register: (any KeyedSendRegister)?
    let digester: KeyedDigester
    let limiter: Limiter
    let journal: any Journal

    @inline(never)
    /// Looks up the send by its key, or defers the look-up. Throws if the same send is in flight, or if the key was used for
    /// another message.
    func deduplicate(_ authorized: consuming AuthorizedCall) throws(Rejection) -> DeduplicationResult {
        guard let send = authorized.permitted.keyedSend else { return .new(DeduplicatedCall(authorized)) }
        guard let key = digester.digest(send.key.bytes),
            let message = digester.digest(ofMessage: send.text, from: authorized.caller.user)
        else {
            throw Rejection(.internalError, "the digest could not be computed: libcrypto failed").with(authorized.facts)
        }
        authorized.facts.digest = message
        authorized.facts.idempotencyKey = key
        let keyed = KeyedSend(
            user: authorized.caller.user, target: send.target, service: send.service, key: key, message: message)
        if register != nil || !store.isRestored { return .deferred(DeferredSend(authorized, keyed)) }
        switch try decide(store.lookUp(IdempotencyStore.Scope(keyed), message: message), authorized) {
        case .new(let call): return .new(call)
        case .repeated(let response): return .repeated(response)
        }
    }

    /// Looks up a deferred send, which the register stores if it is new. Throws as the synchronous part does, and if the
    /// register or the journal is unavailable.
    @inline(never)
    func deduplicate(_ deferred: consuming DeferredSend) async throws(Rejection) -> KeyedSendDecision {
        let send = deferred.send
        let authorized = deferred.authorized
        let lookup: IdempotencyStore.Lookup
        if let register {
            do throws(LedgerUnavailable) {
                lookup = try await IdempotencyStore.Lookup(register.insert(send), of: send, in: register)
            } catch {
                let rejection = Rejection(
                    .ledgerUnavailable, "idempotency keys: \(error.detail)",
                    hint: "Sends with an Idempotency-Key cannot be made now.", extra: .retryAfter(seconds: 5))
                throw charged(rejection, authorized.caller, authorized.facts)
            }
        } else {
            do throws(JournalUnavailable) {
                try await store.awaitRestoration()
            } catch {
                throw charged(Rejection(error), authorized.caller, authorized.facts)
            }
            lookup = store.lookUp(IdempotencyStore.Scope(send), message: send.message)
        }
        do throws(Rejection) {
            try authorized.revocation.check()
        } catch {
            throw error.with(authorized.facts)
        }
        return try decide(lookup, authorized)
    }

    private func decide(
        _ lookup: IdempotencyStore.Lookup, _ authorized: consuming AuthorizedCall
    ) throws(Rejection) -> KeyedSendDecision {
        do throws(Rejection) {
            switch lookup {
            case .new(let claim):
                return .new(DeduplicatedCall(authorized, claim: claim))
            case .inFlight:
                try charge(authorized.caller, authorized.facts)
                throw .sendInFlight
            case .differentMessage:
                try charge(authorized.caller, authorized.facts)
                throw Rejection(
                    .idempotencyMismatch, "the key was used for another message",
                    hint: "This Idempotency-Key was used for another message.")
            case .completed(let response, let result):
                try charge(authorized.caller, authorized.facts)
                return .repeated(replay(response, result, authorized.facts))
            case .unknown:
                try charge(authorized.caller, authorized.facts)
                let rejection = Rejection(.backendTimedOut, "the outcome of the send is unknown")
                return .repeated(replay(ProblemDocument.response(rejection), .backendTimedOut, authorized.facts))
            }
        } catch {
            throw error.with(authorized.facts)
        }
    }

    /// Returns a call without a look-up, for a dry run, which sends nothing.
    static func exempt(_ authorized: consuming AuthorizedCall) -> DeduplicatedCall { DeduplicatedCall(authorized) }

    /// Charges a repeated send, or a rejection because of the key, to the limits that count every call. Limits of sends
    /// are not charged.
    private func charge(_ caller: Identity, _ facts: CallFacts) throws(Rejection) {
        try limiter.admit(rejectedCallOf: caller, at: facts.peer)
    }

    /// Charges a send whose key cannot be looked up. Returns its rejection: that of a limit if one is exhausted.
    private func charged(_ rejection: Rejection, _ caller: Identity, _ facts: CallFacts) -> Rejection {
        do throws(Rejection) {
            try charge(caller, facts)
        } catch {
            return error.with(facts)
        }
        return rejection.with(facts)
    }

    private func replay(_ response: Response, _ result: CallResult, _ facts: CallFacts) -> Response {
        journal.append(JournalRecord(.replay, facts: facts, result: result.rawValue))
        var response = response
        response.fields.append(Response.Field("Idempotency-Replayed", "true"))
        return response
    }
}

/// A send with an idempotency key, to a user or an audience.
struct PermittedIdempotentSend {
    let key: IdempotencyKey
    let target: String
    let service: PushService
    let text: String

    /// Creates a value, or returns nil if there is no key.
    init?(_ key: IdempotencyKey?, target: String, service: PushService, text: String) {
        guard let key else { return nil }
        self.key = key
        self.target = target
        self.service = service
        self.text = text
    }
}

extension PermittedOperation {
    /// The send, if the operation is a send with a key.
    var keyedSend: PermittedIdempotentSend? {
        // Does not use `requestedSend`: with that inlined, the optimizer of Swift 6.3 crashes.
        switch self {
        case .send(let send):
            PermittedIdempotentSend(send.key, target: send.recipient.text, service: send.service, text: send.text)
        case .sendToAudience(let send, _):
            PermittedIdempotentSend(
                send.key, target: AudienceName.prefix + send.audience.text, service: send.service, text: send.text)
        case .registration: nil
        case .local: nil
        }
    }
}
