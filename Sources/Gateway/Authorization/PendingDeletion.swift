internal import GatewayCore

/// A registration that is marked for deletion, claimed in the ledger. Only `Authorization.sweep` creates one.
struct PendingDeletion: ~Copyable {
    let facts: CallFacts
    /// The former owner.
    let owner: Identity
    let id: RegistrationID
    let claim: LedgerClaim

    fileprivate init(facts: CallFacts, owner: Identity, id: RegistrationID, claim: consuming LedgerClaim) {
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
                facts: facts, owner: Identity(user: owner ?? .nobody("import"), authenticator: "gateway"), id: id,
                claim: claim)
        } catch {
            throw error.with(facts)
        }
    }
}
