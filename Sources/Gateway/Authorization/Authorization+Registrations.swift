internal import GatewayCore

extension Authorization {
    /// What the ledger says of a `PUT`: a hand-over is a thing of its own, for policy and for the record.
    func judge(_ decision: LedgerDecision, _ facts: inout CallFacts) throws(Refusal) {
        switch decision {
        case .handOver(let id, let owner):
            facts.action = .handOver
            facts.registration = id
            facts.recipient = owner
            guard policy.handOver == .allow else { throw Refusal(.notOwner, "hand-overs are refused by policy") }
        case .tooManyHandOvers:
            facts.action = .handOver
            throw Refusal(
                .registrationLimit, "the device changed hands too often", extra: .retryAfter(seconds: 3600))
        case .own(let id), .rotation(let id):
            facts.registration = id
        case .unplaced, .askWithHandle, .askWithoutHandle, .owned, .notOwned, .doomed, .spared:
            break
        }
    }

    /// The account by which the caller was let in, now or for a session, where somebody has to ask later how it stands: a device
    /// gets notifications also when its owner makes no call any more. Where nobody can be asked, the registration's age counts.
    func reviewedAccount(of caller: Identity, login: LoginName?) -> Account? {
        let account =
            if let login {
                Account(user: caller.user, login: login, authenticator: caller.authenticator)
            } else {
                caller.token?.session.flatMap(sessions.session)?.account ?? bearerAccount(of: caller)
            }
        return account.flatMap { account in
            chain.mustReview(account.authenticator) || chain.authenticatorsWithoutStatus.contains(account.authenticator)
                ? account : nil
        }
    }

    /// The account of a bearer token that its authenticator was asked about just now, which is a login too. Tokens that are issued
    /// here, or that an authenticator with accounts vouches for, are none.
    private func bearerAccount(of caller: Identity) -> Account? {
        guard chain.authenticatorsWithoutStatus.contains(caller.authenticator) else { return nil }
        return Account(user: caller.user, login: LoginName(caller.user.text), authenticator: caller.authenticator)
    }
}
