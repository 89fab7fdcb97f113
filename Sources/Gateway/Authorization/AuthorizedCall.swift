internal import GatewayCore
internal import GatewaySupport

/// A call that the caller may make, with its registration claimed in the ledger. Only the authorize phase creates one.
struct AuthorizedCall: ~Copyable {
    var facts: CallFacts
    let caller: Identity
    let permitted: Permitted

    fileprivate init(facts: CallFacts, caller: Identity, permitted: consuming Permitted) {
        self.facts = facts
        self.caller = caller
        self.permitted = permitted
    }
}

/// An authorized operation. Operations on a registration hold a claim, which is a lock in the ledger.
enum Permitted: ~Copyable {
    case create(handle: DeviceHandle?, LedgerClaim)
    case update(label: RegistrationID, DeviceHandle, tags: [Tag], LedgerClaim)
    case delete(RegistrationID, LedgerClaim)
    case send(RequestedSend)
    case sendToAudience(RequestedAudienceSend, members: [UserName])
    case own(PermittedLocalCall)

    /// The send, if the operation is a send to one user.
    var requestedSend: RequestedSend? {
        // One pattern in each case: the compiler does not accept several patterns for a noncopyable value.
        switch self {
        case .send(let send): send
        case .create: nil
        case .update: nil
        case .delete: nil
        case .sendToAudience: nil
        case .own: nil
        }
    }

    /// The message, if the operation is a send of either kind.
    var text: String? {
        switch self {
        case .send(let send): send.text
        case .sendToAudience(let send, _): send.text
        case .create: nil
        case .update: nil
        case .delete: nil
        case .own: nil
        }
    }

    /// The send and its recipients, if the operation is a send to an audience.
    var requestedAudience: (send: RequestedAudienceSend, members: [UserName])? {
        switch self {
        case .sendToAudience(let send, let members): (send, members)
        case .create: nil
        case .update: nil
        case .delete: nil
        case .send: nil
        case .own: nil
        }
    }
}

/// The authorize phase: decides whether the caller may make the call. The policy decides on sends and tags, the ledger
/// on registrations.
struct Authorization: Sendable {
    let policy: Policy
    let sendRules: SendRules
    let ledger: any RegistrationLedger
    let limiter: Limiter
    let sessions: any SessionStore
    let chain: AuthenticatorChain
    let history: any NotificationHistory
    let historyLimiter: Limiter
    let clocks: Clocks

    @inline(never)
    func authorize(
        _ identified: consuming AuthenticatedCall, _ payment: Limiter.Payment = .charged
    ) async throws(Rejection) -> AuthorizedCall {
        if let authorized = try authorizeImmediately(&identified, payment) { return authorized }
        return try await authorizeAsynchronously(identified, payment)
    }

    /// Authorizes sends, which depend only on the policy; returns nil for other calls.
    @inline(never)
    private func authorizeImmediately(
        _ identified: inout AuthenticatedCall, _ payment: Limiter.Payment
    ) throws(Rejection) -> AuthorizedCall? {
        do throws(Rejection) {
            guard let permitted = try permitImmediately(identified.call, identified.caller, &identified.facts) else {
                return nil
            }
            return AuthorizedCall(facts: identified.facts, caller: identified.caller, permitted: permitted)
        } catch {
            throw charge(error, to: identified.caller, identified.facts, payment)
        }
    }

    @inline(never)
    private func authorizeAsynchronously(
        _ identified: consuming AuthenticatedCall, _ payment: Limiter.Payment
    ) async throws(Rejection) -> AuthorizedCall {
        var facts = identified.facts
        let caller = identified.caller
        do throws(Rejection) {
            let revocation = CallerRevocationCheck(of: caller, since: identified.epoch, in: sessions)
            let permitted = try await permit(
                identified.call, caller, login: identified.login, revocation, &facts)
            // The session may have been closed, or the user revoked, while the call waited for the ledger.
            try revocation.check()
            return AuthorizedCall(facts: facts, caller: caller, permitted: permitted)
        } catch {
            throw charge(error, to: caller, facts, payment)
        }
    }

    /// Charges a call that is rejected here and so never reaches the limit phase. Otherwise no limit would count
    /// rejected attempts.
    private func charge(
        _ rejection: Rejection, to caller: Identity, _ facts: CallFacts, _ payment: Limiter.Payment
    ) -> Rejection {
        do throws(Rejection) {
            try limiter.admit(refusedCallOf: caller, at: facts.peer, payment)
        } catch {
            return error.with(facts)
        }
        return rejection.with(facts)
    }

    /// Authorizes the deletion of a registration that is marked for deletion, on behalf of its former owner.
    ///
    /// - Returns: Nil if there is nothing left to delete.
    func sweep(_ id: RegistrationID, _ facts: CallFacts) async throws(Rejection) -> AuthorizedCall? {
        var facts = facts
        do throws(Rejection) {
            let claim = try await claim(.sweep(id))
            guard case .pendingDeletion(let id, let owner, let reason) = claim.decision else { return nil }
            facts.action = .registerDelete
            facts.user = owner
            facts.registration = id
            facts.rule = reason.rawValue
            return AuthorizedCall(
                facts: facts, caller: Identity(user: owner ?? .nobody("import"), authenticator: "gateway"),
                permitted: .delete(id, claim))
        } catch {
            throw error.with(facts)
        }
    }

    private func permit(
        _ call: Call, _ caller: Identity, login: LoginName?, _ revocation: CallerRevocationCheck,
        _ facts: inout CallFacts
    ) async throws(Rejection) -> Permitted {
        switch call {
        case .own(let own):
            let permitted = try await permit(own, caller, at: facts.peer, login: login, since: revocation.epoch)
            facts.session = permitted.session
            return .own(permitted)
        case .send(let send):
            return try permit(send, caller, &facts)
        case .sendToAudience(let send):
            return try permit(send, caller, &facts)
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
            return .delete(id, claim)
        }
    }

    private func permitImmediately(
        _ call: Call, _ caller: Identity, _ facts: inout CallFacts
    ) throws(Rejection) -> Permitted? {
        switch call {
        case .send(let send): try permit(send, caller, &facts)
        case .sendToAudience(let send): try permit(send, caller, &facts)
        case .create, .update, .delete, .own: nil
        }
    }

    private func permit(
        _ send: RequestedSend, _ caller: Identity, _ facts: inout CallFacts
    ) throws(Rejection) -> Permitted {
        let rule = try rule(sendRules.rule(for: caller, to: send.recipient))
        facts.establish { $0.rule = rule }
        return .send(send)
    }

    private func permit(
        _ send: RequestedAudienceSend, _ caller: Identity, _ facts: inout CallFacts
    ) throws(Rejection) -> Permitted {
        guard let members = policy.audiences[send.audience] else {
            throw Rejection(.sendNotAllowed, "there is no such audience")
        }
        facts.rule = try rule(sendRules.rule(for: caller, toAudience: send.audience))
        return .sendToAudience(send, members: members)
    }

    /// Returns the rule that allows the send. Without one, rejects the send, or allows it if the policy is not
    /// enforced.
    private func rule(_ matching: String?) throws(Rejection) -> String {
        if let matching { return matching }
        guard !policy.isEnforced else { throw Rejection(.sendNotAllowed, "no rule allows the send") }
        return Policy.wouldReject
    }

    private func claim(
        _ request: LedgerRequest, _ revocation: CallerRevocationCheck? = nil
    ) async throws(Rejection) -> LedgerClaim {
        do throws(LedgerUnavailable) {
            return try await ledger.begin(request, now: clocks.wall()) { revocation?.isRevoked ?? false }
        } catch {
            guard error.isFull else {
                throw Rejection(.ledgerUnavailable, "ledger: \(error.detail)", extra: .retryAfter(seconds: 5))
            }
            throw Rejection(.overloaded, "ledger: \(error.detail)", extra: .retryAfter(seconds: 1))
        }
    }
}
