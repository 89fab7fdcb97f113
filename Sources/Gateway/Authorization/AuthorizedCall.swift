internal import GatewayCore
internal import GatewaySupport

/// A call that the caller may make. If it concerns a handle or a registration, it holds a claim on it in the ledger.
/// Only the authorize phase creates one.
struct AuthorizedCall: ~Copyable {
    var facts: CallFacts
    let caller: Identity
    /// Checks, after each wait of the call, whether the caller may still act.
    let revocation: CallerRevocationCheck
    let permitted: PermittedOperation

    fileprivate init(
        facts: CallFacts, caller: Identity, _ revocation: CallerRevocationCheck,
        permitted: consuming PermittedOperation
    ) {
        self.facts = facts
        self.caller = caller
        self.revocation = revocation
        self.permitted = permitted
    }
}

/// An authorized operation. An operation on a registration holds a claim (a lock in the ledger) until the call
/// completes.
enum PermittedOperation: ~Copyable {
    case registration(PermittedRegistration)
    case send(RequestedSend)
    case sendToAudience(RequestedAudienceSend, members: [UserName])
    case local(PermittedLocalCall)

    /// The send, if the operation is a send to one user.
    var requestedSend: RequestedSend? {
        // One pattern in each case: the compiler does not accept several patterns for a noncopyable value.
        switch self {
        case .send(let send): send
        case .registration: nil
        case .sendToAudience: nil
        case .local: nil
        }
    }

    /// The message, if the operation is a send of either kind.
    var text: String? {
        switch self {
        case .send(let send): send.text
        case .sendToAudience(let send, _): send.text
        case .registration: nil
        case .local: nil
        }
    }

    /// The send and its recipients, if the operation is a send to an audience.
    var requestedAudienceSend: (send: RequestedAudienceSend, members: [UserName])? {
        switch self {
        case .sendToAudience(let send, let members): (send, members)
        case .registration: nil
        case .send: nil
        case .local: nil
        }
    }
}

/// An authorized operation on a registration.
enum PermittedRegistration: ~Copyable {
    /// Requests a registration id. `handle` is nil if the device did not send it.
    case create(handle: DeviceHandle?, LedgerClaim)
    /// Registers the handle. `label` is the id that the device presented; the claim's decision says which registration it is.
    case update(label: RegistrationID, DeviceHandle, tags: [Tag], LedgerClaim)
    /// Deletes a registration of the caller, by the backend's id as the ledger confirmed it.
    case delete(owned: RegistrationID, LedgerClaim)
}

/// The authorize phase: decides whether the caller may make the call. The policy decides on sends and tags, the ledger
/// on registrations.
struct Authorization: Sendable {
    let policy: Policy
    var sendRules: SendRules
    let ledger: any RegistrationLedger
    let limiter: Limiter
    let sessions: any SessionStore
    let chain: AuthenticatorChain
    let names: NameRules
    let history: any NotificationHistory
    let historyLimiter: Limiter
    /// The upstreams at which registrations are made.
    let upstreams: UpstreamTable
    /// Secure sends and their texts; nil if there are none.
    let secure: SecureTextAccess?
    let clocks: Clocks
    /// Verifies the references of scheduled sends.
    let digester: KeyedDigester

    /// Decides whether the caller may make the call. Throws if not, or if the ledger, the history or the authenticator
    /// of the account is unavailable.
    ///
    /// - Parameter chargeMode: Whether a rejection is charged to the limits that count every call; not in a dry run.
    @inline(never)
    func authorize(
        _ authenticated: consuming AuthenticatedCall, _ chargeMode: Limiter.ChargeMode = .charged
    ) async throws(Rejection) -> AuthorizedCall {
        switch try authorizeSend(&authenticated, chargeMode) {
        case .authorized(let authorized): return authorized
        case .deferred(let call): return try await authorize(call, of: authenticated, chargeMode)
        }
    }

    /// The result of the synchronous part of the phase.
    private enum SendAuthorization: ~Copyable {
        case authorized(AuthorizedCall)
        /// The call is not a send.
        case deferred(DeferredCall)
    }

    /// A call whose authorization may wait for the ledger, the history or an authenticator.
    private enum DeferredCall {
        case registration(RegistrationCall)
        case local(LocalCall)
    }

    /// Authorizes sends, which depend only on the policy, and defers all other calls.
    @inline(never)
    private func authorizeSend(
        _ authenticated: inout AuthenticatedCall, _ chargeMode: Limiter.ChargeMode
    ) throws(Rejection) -> SendAuthorization {
        do throws(Rejection) {
            let permitted: PermittedOperation
            switch authenticated.call {
            case .send(let send, let position):
                permitted = try permit(send, at: position, authenticated.caller, &authenticated.facts)
            case .sendToAudience(let send, let position):
                permitted = try permit(send, at: position, authenticated.caller, &authenticated.facts)
            case .registration(let call): return .deferred(.registration(call))
            case .local(let call): return .deferred(.local(call))
            }
            let revocation = CallerRevocationCheck(
                of: authenticated.caller, since: authenticated.epoch, in: sessions)
            return .authorized(
                AuthorizedCall(
                    facts: authenticated.facts, caller: authenticated.caller, revocation, permitted: permitted))
        } catch {
            throw charge(error, to: authenticated.caller, authenticated.facts, chargeMode)
        }
    }

    @inline(never)
    private func authorize(
        _ call: DeferredCall, of authenticated: consuming AuthenticatedCall, _ chargeMode: Limiter.ChargeMode
    ) async throws(Rejection) -> AuthorizedCall {
        var facts = authenticated.facts
        let caller = authenticated.caller
        do throws(Rejection) {
            let revocation = CallerRevocationCheck(of: caller, since: authenticated.epoch, in: sessions)
            let permitted = try await permit(call, caller, login: authenticated.login, revocation, &facts)
            // The session may have been closed, or the user revoked, while the call waited for the ledger.
            try revocation.check()
            return AuthorizedCall(facts: facts, caller: caller, revocation, permitted: permitted)
        } catch {
            throw charge(error, to: caller, facts, chargeMode)
        }
    }

    /// Charges a call that this phase rejects and that therefore never reaches the limit phase; otherwise no limit
    /// would count rejected attempts.
    ///
    /// - Returns: The rejection to throw: the given one, or that of a limit that rejects the call.
    private func charge(
        _ rejection: Rejection, to caller: Identity, _ facts: CallFacts, _ chargeMode: Limiter.ChargeMode
    ) -> Rejection {
        do throws(Rejection) {
            try limiter.admit(rejectedCallOf: caller, at: facts.peer, chargeMode)
        } catch {
            return error.with(facts)
        }
        return rejection.with(facts)
    }

    private func permit(
        _ call: DeferredCall, _ caller: Identity, login: LoginName?, _ revocation: CallerRevocationCheck,
        _ facts: inout CallFacts
    ) async throws(Rejection) -> PermittedOperation {
        switch call {
        case .local(let local):
            let permitted = try await permit(local, caller, at: facts.peer, login: login, revocation)
            facts.session = permitted.session
            facts.secureID = permitted.secureID
            return .local(permitted)
        case .registration(let registration):
            return .registration(try await permit(registration, caller, login: login, revocation, &facts))
        }
    }

    private func permit(
        _ call: RegistrationCall, _ caller: Identity, login: LoginName?, _ revocation: CallerRevocationCheck,
        _ facts: inout CallFacts
    ) async throws(Rejection) -> PermittedRegistration {
        switch call {
        case .create(let handle):
            return .create(
                handle: handle, try await claim(.create(user: caller.user, handle: handle), revocation))
        case .update(let label, let registration):
            let tags = try policy.registeredTags(registration.tags, by: caller, &facts)
            let account = recheckedAccount(of: caller, login: login)
            let claim = try await claim(
                .update(user: caller.user, label: label, handle: registration.handle, account: account), revocation)
            try apply(claim.decision, &facts)
            return .update(label: label, registration.handle, tags: tags, claim)
        case .delete(let label):
            let claim = try await claim(.delete(user: caller.user, label: label))
            guard case .owned(let id) = claim.decision else {
                throw Rejection(.notOwner, "the label refers to no registration of the caller")
            }
            facts.registration = id
            return .delete(owned: id, claim)
        }
    }

    /// Claims the handle and the registration of the request in the ledger, and returns the claim with the ledger's
    /// decision.
    ///
    /// - Parameter revocation: Checked by the ledger before each of its transactions: a revoked caller, and one whose
    ///   authenticator was withdrawn, gets no claim and changes nothing. Nil for a call that a revocation does not stop.
    func claim(
        _ request: LedgerRequest, _ revocation: CallerRevocationCheck? = nil
    ) async throws(Rejection) -> LedgerClaim {
        do throws(LedgerUnavailable) {
            return try await ledger.begin(request, at: upstream(of: request)?.name, now: clocks.wall()) {
                revocation.map { $0.isRevoked || $0.isWithdrawn } ?? false
            }
        } catch {
            guard error.isFull else {
                throw Rejection(.ledgerUnavailable, "ledger: \(error.detail)", extra: .retryAfter(seconds: 5))
            }
            throw Rejection(.overloaded, "ledger: \(error.detail)", extra: .retryAfter(seconds: 1))
        }
    }

    /// Returns the upstream at which the request makes a registration; nil for a deletion.
    private func upstream(of request: LedgerRequest) -> PlannedUpstream? {
        switch request {
        case .create(_, let handle): upstreams.reserving(for: handle)
        case .update(_, _, let handle, _): upstreams[handle.service]
        case .delete, .sweep: nil
        }
    }
}
