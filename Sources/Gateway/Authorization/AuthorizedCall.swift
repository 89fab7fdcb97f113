internal import GatewayCore

/// A call that its caller may make, with what it touches claimed in the ledger. Only authorization makes one.
struct AuthorizedCall: ~Copyable {
    var facts: CallFacts
    let caller: Identity
    let permitted: Permitted
    /// The send's place among those with a key, once it has been looked up.
    var claim: SendClaim?

    fileprivate init(facts: CallFacts, caller: Identity, permitted: consuming Permitted) {
        self.facts = facts
        self.caller = caller
        self.permitted = permitted
    }
}

/// What a caller has been permitted. Whatever touches a registration holds a claim that only the ledger gives.
enum Permitted: ~Copyable {
    case create(handle: DeviceHandle?, LedgerClaim)
    case update(label: RegistrationID, DeviceHandle, tags: [Tag], LedgerClaim)
    case delete(RegistrationID, LedgerClaim)
    case send(RequestedSend)
    case sendToAudience(RequestedAudienceSend, members: [UserName])
    case own(PermittedOwnCall)

    /// What is to be sent, where it is a send.
    var requestedSend: RequestedSend? {
        // One pattern a case: the compiler takes no more for a value that cannot be copied.
        switch self {
        case .send(let send): send
        case .create: nil
        case .update: nil
        case .delete: nil
        case .sendToAudience: nil
        case .own: nil
        }
    }

    /// The message, where it is a send of either kind.
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

    /// What is to be sent to whom, where it is a send to an audience.
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

/// The third phase: may the caller do this? Policy for sends and tags, the ledger for registrations.
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
        _ identified: consuming IdentifiedCall, _ payment: Limiter.Payment = .charged
    ) async throws(Refusal) -> AuthorizedCall {
        if let authorized = try authorizeAtOnce(&identified, payment) { return authorized }
        return try await authorizeAfterAsking(identified, payment)
    }

    /// Sends, on which policy alone decides; nil for everything else.
    @inline(never)
    private func authorizeAtOnce(
        _ identified: inout IdentifiedCall, _ payment: Limiter.Payment
    ) throws(Refusal) -> AuthorizedCall? {
        do throws(Refusal) {
            guard let permitted = try permitAtOnce(identified.call, identified.caller, &identified.facts) else {
                return nil
            }
            return AuthorizedCall(facts: identified.facts, caller: identified.caller, permitted: permitted)
        } catch {
            throw charge(error, to: identified.caller, identified.facts, payment)
        }
    }

    @inline(never)
    private func authorizeAfterAsking(
        _ identified: consuming IdentifiedCall, _ payment: Limiter.Payment
    ) async throws(Refusal) -> AuthorizedCall {
        var facts = identified.facts
        let caller = identified.caller
        do throws(Refusal) {
            let revocation = CallerRevocation(of: caller, since: identified.epoch, in: sessions)
            let permitted = try await permit(
                identified.call, caller, login: identified.login, revocation, &facts)
            // The session may have ended while the call waited for the ledger.
            try revocation.check()
            return AuthorizedCall(facts: facts, caller: caller, permitted: permitted)
        } catch {
            throw charge(error, to: caller, facts, payment)
        }
    }

    /// Whoever is refused here never comes to the limits, and trying all day must be neither free nor without end.
    private func charge(
        _ refusal: Refusal, to caller: Identity, _ facts: CallFacts, _ payment: Limiter.Payment
    ) -> Refusal {
        do throws(Refusal) {
            try limiter.admit(refusedCallOf: caller, at: facts.peer, payment)
        } catch {
            return error.with(facts)
        }
        return refusal.with(facts)
    }

    /// What the gateway does by itself: a registration that is marked to be deleted, for the owner that it had.
    ///
    /// - Returns: nil where there is nothing to delete any more.
    func sweep(_ id: RegistrationID, _ facts: CallFacts) async throws(Refusal) -> AuthorizedCall? {
        var facts = facts
        do throws(Refusal) {
            let claim = try await claim(.sweep(id))
            guard case .doomed(let id, let owner, let reason) = claim.decision else { return nil }
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
        _ call: Call, _ caller: Identity, login: LoginName?, _ revocation: CallerRevocation, _ facts: inout CallFacts
    ) async throws(Refusal) -> Permitted {
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
        case .update(let label, let wanted):
            let tags = try policy.registeredTags(wanted.tags, by: caller, &facts)
            let account = reviewedAccount(of: caller, login: login)
            let claim = try await claim(
                .update(user: caller.user, label: label, handle: wanted.handle, account: account), revocation)
            try judge(claim.decision, &facts)
            return .update(label: label, wanted.handle, tags: tags, claim)
        case .delete(let label):
            let claim = try await claim(.delete(user: caller.user, label: label))
            guard case .owned(let id) = claim.decision else {
                throw Refusal(.notOwner, "the label means no registration of the caller's")
            }
            facts.registration = id
            return .delete(id, claim)
        }
    }

    private func permitAtOnce(
        _ call: Call, _ caller: Identity, _ facts: inout CallFacts
    ) throws(Refusal) -> Permitted? {
        switch call {
        case .send(let send): try permit(send, caller, &facts)
        case .sendToAudience(let send): try permit(send, caller, &facts)
        case .create, .update, .delete, .own: nil
        }
    }

    private func permit(
        _ send: RequestedSend, _ caller: Identity, _ facts: inout CallFacts
    ) throws(Refusal) -> Permitted {
        let rule = try rule(sendRules.rule(for: caller, to: send.recipient))
        facts.establish { $0.rule = rule }
        return .send(send)
    }

    private func permit(
        _ send: RequestedAudienceSend, _ caller: Identity, _ facts: inout CallFacts
    ) throws(Refusal) -> Permitted {
        guard let members = policy.audiences[send.audience] else {
            throw Refusal(.sendNotAllowed, "there is no such audience")
        }
        facts.rule = try rule(sendRules.rule(for: caller, toAudience: send.audience))
        return .sendToAudience(send, members: members)
    }

    /// The rule that decides on a send, where there is one; where none does, it is refused or would be.
    private func rule(_ found: String?) throws(Refusal) -> String {
        if let found { return found }
        guard !policy.isEnforced else { throw Refusal(.sendNotAllowed, "no rule allows the send") }
        return Policy.wouldRefuse
    }

    private func claim(
        _ request: LedgerRequest, _ revocation: CallerRevocation? = nil
    ) async throws(Refusal) -> LedgerClaim {
        do throws(LedgerUnavailable) {
            return try await ledger.begin(request, now: clocks.wall()) { revocation?.isRevoked ?? false }
        } catch {
            guard error.isFull else {
                throw Refusal(.ledgerUnavailable, "ledger: \(error.detail)", extra: .retryAfter(seconds: 5))
            }
            throw Refusal(.overloaded, "ledger: \(error.detail)", extra: .retryAfter(seconds: 1))
        }
    }
}
