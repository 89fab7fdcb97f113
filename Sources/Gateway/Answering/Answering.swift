internal import GatewayCore
internal import Logging

/// In place of forwarding and settling: what the gateway answers itself, without the backend.
struct Answering: Sendable {
    let chain: AuthenticatorChain
    let authentication: AuthenticationRules
    let sessions: any SessionStore
    let journal: any Journal
    let clocks: Clocks
    let randomness: @Sendable () -> UInt64
    let challenges: [Answer.Field]
    let logger: Logger

    /// Does what was recorded. From here on nothing throws: where there is an intent, every end is its outcome.
    func answer(_ recorded: consuming RecordedOwnPlan) async -> Answer {
        let (facts, caller, call) = (recorded.plan.facts, recorded.plan.caller, recorded.plan.call)
        switch call {
        case .whoami:
            return .whoami(caller)
        case .listSessions(let current):
            return .sessions(sessions.sessions(of: caller.user), current: current)
        case .listRegistrations(let registrations):
            return .registrations(registrations)
        case .listReceived(let notifications):
            return .received(notifications)
        case .startSession(let device, let login, let epoch):
            return await startSession(device, login, since: epoch, caller, facts)
        case .renewSession(let session, let groups):
            return await renew(session, groups: groups, facts)
        case .endSession(let id):
            return await conclude(facts) { () throws(LedgerUnavailable) in
                _ = try await sessions.end(id, of: caller.user)
                return .accepted
            }
        case .revokeToken(let token):
            // As long as somebody could still take it, whose clock may be a minute behind.
            let until = WallTime(seconds: token.expires.seconds + 60)
            return await conclude(facts) { () throws(LedgerUnavailable) in
                try await sessions.revoke(token: token.id, of: caller.user, until: until)
                return .accepted
            }
        }
    }

    private func startSession(
        _ device: DeviceLabel?, _ login: LoginName, since epoch: RevocationEpoch, _ caller: Identity, _ facts: CallFacts
    ) async -> Answer {
        guard let issuer = chain.issuer else { return end(.notIssued, facts, "nobody issues tokens") }
        let now = clocks.wall()
        let session = Session(
            id: SessionID(random: (randomness(), randomness())), user: caller.user, login: login,
            authenticator: caller.authenticator, device: device, began: now,
            ends: WallTime(seconds: now.seconds + lifetime(of: caller, by: issuer).components.seconds), renewed: now)
        var facts = facts
        facts.session = session.id
        let issued: IssuedToken
        do throws(IssueFault) {
            issued = try issuer.issue(for: caller.user, groups: caller.groups, in: session, now: now)
        } catch {
            return end(.notIssued, facts, error.detail)
        }
        return await conclude(facts, .token(issued, of: session.id, now: now)) { () throws(LedgerUnavailable) in
            guard try await sessions.start(session, since: epoch) else { return .revoked }
            note(caller.groups, of: session)
            return .accepted
        }
    }

    private func renew(_ session: Session, groups: Set<GroupName>, _ facts: CallFacts) async -> Answer {
        guard let issuer = chain.issuer else { return end(.notIssued, facts, "nobody issues tokens") }
        let now = clocks.wall()
        let issued: IssuedToken
        do throws(IssueFault) {
            issued = try issuer.issue(for: session.user, groups: groups, in: session, now: now)
        } catch {
            return end(.notIssued, facts, error.detail)
        }
        return await conclude(facts, .token(issued, of: session.id, now: now)) { () throws(LedgerUnavailable) in
            guard try await sessions.renew(session.id) else { return .revoked }
            note(groups, of: session)
            return .accepted
        }
    }

    /// How long a session lasts. Where nobody can be asked whether the account is still good, only a new login tells.
    private func lifetime(of caller: Identity, by issuer: any TokenIssuer) -> Duration {
        chain.authenticatorsWithoutStatus.contains(caller.authenticator)
            ? min(issuer.sessionLifetime, authentication.sessionWithoutStatus) : issuer.sessionLifetime
    }

    /// Notes the groups that the account was just found in, where its authenticator is asked for them again later.
    private func note(_ groups: Set<GroupName>, of session: Session) {
        if chain.mustReview(session.authenticator) { sessions.note(groups, of: session.account) }
    }

    /// Writes, and answers so where that went well. Where it did not, nothing has changed: the caller may try again.
    private func conclude(
        _ facts: CallFacts, _ answer: Answer = .empty(204),
        _ write: () async throws(LedgerUnavailable) -> CallResult
    ) async -> Answer {
        do throws(LedgerUnavailable) {
            let result = try await write()
            return end(result, facts, "the user or the session was revoked meanwhile", or: answer)
        } catch {
            return end(.ledgerUnavailable, facts, "ledger: \(error.detail)")
        }
    }

    private func end(_ result: CallResult, _ facts: CallFacts, _ detail: String, or answer: Answer? = nil) -> Answer {
        journal.note(JournalRecord(.outcome, facts: facts, result: result.rawValue))
        guard let code = result.refusal else { return answer ?? .empty(204) }
        logger.warning(
            "A call to the gateway itself failed",
            metadata: ["call": "\(facts.call)", "code": "\(code.rawValue)", "detail": "\(detail)"])
        return ProblemDocument.answer(Refusal(code, detail, extra: result.extra), challenges: challenges)
    }
}
