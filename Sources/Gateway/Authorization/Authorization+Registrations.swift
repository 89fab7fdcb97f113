internal import GatewayCore

extension Authorization {
    /// Applies the ledger's decision on an update. A hand-over has its own action in policy and record.
    func apply(_ decision: LedgerDecision, _ facts: inout CallFacts) throws(Rejection) {
        switch decision {
        case .ownershipTransfer(let id, let owner):
            facts.action = .ownershipTransfer
            facts.registration = id
            facts.recipient = owner
            guard policy.ownershipTransfer == .allow else {
                throw Rejection(.notOwner, "the policy rejects hand-overs")
            }
        case .tooManyOwnershipTransfers:
            facts.action = .ownershipTransfer
            throw Rejection(
                .registrationLimit, "the device changed its owner too often", extra: .retryAfter(seconds: 3600))
        case .own(let id), .rotation(let id):
            facts.registration = id
        case .notRegistered, .queryWithHandle, .queryWithoutHandle, .owned, .notOwned, .pendingDeletion, .notMarked:
            break
        }
    }

    /// Returns the account of the caller's login or session if its status must be checked later, because a device
    /// receives notifications even if its owner makes no further call. If the status cannot be queried, the
    /// registration expires some time after it was last renewed.
    func recheckedAccount(of caller: Identity, login: LoginName?) -> Account? {
        let account =
            if let login {
                Account(user: caller.user, login: login, authenticator: caller.authenticator)
            } else {
                caller.token?.session.flatMap(sessions.session)?.account ?? bearerAccount(of: caller)
            }
        return account.flatMap { account in
            chain.requiresRecheck(account.authenticator)
                || chain.authenticatorsWithoutStatus.contains(account.authenticator)
                ? account : nil
        }
    }

    /// Returns the account of a bearer token that its authenticator has just verified, which counts as a login. Nil for
    /// tokens that the gateway issued.
    private func bearerAccount(of caller: Identity) -> Account? {
        guard
            chain.authenticatorsWithoutStatus.contains(caller.authenticator)
                || (caller.token == nil && chain.requiresRecheck(caller.authenticator))
        else { return nil }
        return Account(user: caller.user, login: names.login(of: caller.user), authenticator: caller.authenticator)
    }
}

/// A registration that is marked for deletion, claimed in the ledger. Only `Authorization.sweep` creates one.
struct PendingDeletion: ~Copyable {
    let facts: CallFacts
    /// The former owner.
    let owner: UserName
    let id: RegistrationID
    let claim: LedgerClaim

    fileprivate init(facts: CallFacts, owner: UserName, id: RegistrationID, claim: consuming LedgerClaim) {
        self.facts = facts
        self.owner = owner
        self.id = id
        self.claim = claim
    }
}

extension Authorization {
    /// Authorizes the deletion of a registration that is marked for deletion, on behalf of its former owner.
    ///
    /// - Returns: Nil if there is nothing left to delete.
    func sweep(_ id: RegistrationID, _ facts: CallFacts) async throws(Rejection) -> PendingDeletion? {
        var facts = facts
        do throws(Rejection) {
            let claim = try await claim(.sweep(id))
            guard case .pendingDeletion(let id, let owner, let reason) = claim.decision else { return nil }
            facts.action = .registerDelete
            facts.user = owner
            facts.registration = id
            facts.rule = reason.rawValue
            return PendingDeletion(
                facts: facts, owner: owner ?? .nobody("import"), id: id, claim: claim)
        } catch {
            throw error.with(facts)
        }
    }
}
