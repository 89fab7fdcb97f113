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

/// The result of the deduplicate phase: a deduplicated call, or the response to a repeated send.
enum DeduplicationResult: ~Copyable {
    case new(DeduplicatedCall)
    /// The response to send instead of repeating the send.
    case repeated(Response)
}

/// The deduplicate phase, between authorize and limit: finds an earlier send with the same key. Synchronous.
///
/// A send without a key is always new. The limit phase stores a new send when it admits it.
struct Idempotency: Sendable {
    let store: IdempotencyStore
    let digester: KeyedDigester
    let limiter: Limiter
    let journal: any Journal

    @inline(never)
    /// Looks up the send by its key. Throws if the same send is in flight, or if the key was used for another message.
    func deduplicate(_ authorized: consuming AuthorizedCall) throws(Rejection) -> DeduplicationResult {
        guard let send = authorized.permitted.keyedSend else { return .new(DeduplicatedCall(authorized)) }
        do throws(Rejection) {
            guard let key = digester.digest(send.key.bytes), let message = digester.digest(ofText: send.text) else {
                throw Rejection(.internalError, "the digest could not be computed: libcrypto failed")
            }
            authorized.facts.digest = message
            authorized.facts.idempotencyKey = key
            let scope = IdempotencyStore.Scope(
                user: authorized.caller.user, target: send.target, service: send.service, key: key)
            switch store.lookUp(scope, message: message) {
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

/// The result of a send, which decides how later requests with the same key are handled.
enum IdempotentResult {
    /// The send certainly did not reach the backend; it may be sent again.
    case notSent
    /// The send may have reached the backend.
    case unknown
    /// The result is certain, and the client got this response.
    case completed(Response, CallResult)

    /// Creates the result of a send to one user.
    init(_ result: CallResult, _ response: Response) {
        switch result {
        case .backendUnreachable, .overloaded, .textsUnavailable: self = .notSent
        case .backendTimedOut, .unknownAtStop, .unknownAfterCrash: self = .unknown
        case .accepted, .adopted, .healed, .neutralised, .deleteUnconfirmed, .ledgerUnavailable, .backendFailed,
            .ledgerFailed, .notIssued, .revoked:
            self = .completed(response, result)
        }
    }

    /// Creates the result of a send to an audience, in this order: `completed` if any member's send was accepted,
    /// `unknown` if any result is unknown, `notSent` if no send reached the backend, and otherwise `completed`.
    init(_ results: [CallResult], _ response: Response) {
        let outcomes = results.map { IdempotentResult($0, response) }
        if results.contains(.accepted) {
            self = .completed(response, .accepted)
        } else if outcomes.contains(where: \.isUnknown) {
            self = .unknown
        } else if outcomes.allSatisfy(\.isNotSent) {
            self = .notSent
        } else {
            self = .completed(response, .backendFailed)
        }
    }

    /// Creates the result of a send read from the journal.
    init(_ send: IdempotentSend) {
        let isAudience = AudienceName.named(in: send.target) != nil
        guard send.results.count >= send.intents, let result = send.results.first else {
            // The outcome of at least one send was not recorded.
            self = .unknown
            return
        }
        if isAudience {
            let accepted = send.results.count { $0 == .accepted }
            let counts = AudienceCounts(
                accepted: accepted, skipped: send.skipped, failed: send.results.count - accepted)
            self.init(send.results, .audience(counts, detail: nil))
        } else {
            self.init(result, result.rejection.map { ProblemDocument.response(Rejection($0, "")) } ?? .empty(200))
        }
    }

    private var isUnknown: Bool { if case .unknown = self { true } else { false } }
    private var isNotSent: Bool { if case .notSent = self { true } else { false } }
}
