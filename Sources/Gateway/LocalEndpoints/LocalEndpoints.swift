internal import GatewayCore
internal import GatewaySupport
internal import Logging

/// The handlers of the gateway's own endpoints, which replace forwarding and completion for calls without the backend.
struct LocalEndpoints: Sendable {
    let chain: AuthenticatorChain
    let authentication: AuthenticationRules
    let sessions: any SessionStore
    let journal: any Journal
    let clocks: Clocks
    let randomness: @Sendable () -> UInt64
    let forwarding: Forwarding
    /// The texts of secure sends; nil if there are none.
    let texts: (any SecureTextStore)?
    let challenges: [Response.Field]
    let logger: Logger

    /// Carries out the recorded call. It never throws; if an intent was recorded, exactly one outcome follows.
    ///
    /// - Parameter spans: The spans of the call; nil if it is not sampled.
    func response(_ recorded: consuming RecordedLocalPlan, _ spans: CallTrace?) async -> Response {
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
        case .listNotifications(let notifications):
            return .unfetched(notifications)
        case .fetchNotification(let text):
            texts?.markFetched(text.id, at: clocks.wall())
            return finish(.accepted, facts, "", or: .secureText(text))
        case .startSession(let device, let login, let epoch):
            return await startSession(device, login, since: epoch, caller, facts)
        case .renewSession(let session, let groups):
            return await renew(session, groups: groups, facts)
        case .cancelSend(let reference, let revocation):
            return await cancel(reference, PlannedCaller(user: caller.user, revocation: revocation), facts, spans)
        case .deleteSession(let id):
            return await write(facts) { () throws(LedgerUnavailable) in
                _ = try await sessions.delete(id, of: caller.user)
                return .empty(204)
            }
        case .revokeToken(let token):
            // The revocation lasts one minute longer than the token, because the clock of a verifier may be behind.
            let until = WallTime(seconds: token.expires.seconds + 60)
            return await write(facts) { () throws(LedgerUnavailable) in
                try await sessions.revoke(token: token.id, of: caller.user, until: until)
                return .empty(204)
            }
        }
    }

    /// Cancels a scheduled send at the backend. One that the backend does not have any more was delivered or cancelled.
    private func cancel(
        _ reference: ScheduledSendReference, _ caller: PlannedCaller, _ facts: CallFacts, _ spans: CallTrace?
    ) async -> Response {
        let (result, outcome) = await forwarding.cancel(reference.notification, of: caller, facts, spans)
        journal.append(
            JournalRecord(
                .outcome, facts: facts, result: outcome.result.rawValue, status: outcome.status,
                notification: reference.notification))
        if result == .gone {
            return ProblemDocument.response(
                Rejection(
                    .notOwner, "the send was delivered or cancelled before",
                    hint: "The notification was delivered or cancelled before."), challenges: challenges)
        }
        if outcome.result == .accepted, let id = reference.secureID { texts?.remove([id]) }
        return respond(to: outcome.result, facts, outcome.detail, extra: outcome.extra(for: outcome.result))
    }

    private func startSession(
        _ device: DeviceLabel?, _ login: LoginName, since epoch: RevocationEpoch, _ caller: Identity, _ facts: CallFacts
    ) async -> Response {
        guard let issuer = chain.issuer else { return finish(.notIssued, facts, "no authenticator issues tokens") }
        let now = clocks.wall()
        let session = Session(
            id: SessionID(random: (randomness(), randomness())), user: caller.user, login: login,
            authenticator: caller.authenticator, device: device, began: now,
            ends: WallTime(seconds: now.seconds + lifetime(of: caller, by: issuer).components.seconds), renewed: now,
            provider: caller.token?.provider)
        var facts = facts
        facts.session = session.id
        let issued: IssuedToken
        do throws(TokenIssueError) {
            issued = try issuer.issue(for: caller.user, groups: caller.groups, in: session, now: now)
        } catch {
            return finish(.notIssued, facts, error.detail)
        }
        // Without an end of the login, so many others of the user began at the same time that they have replaced the session.
        func ending() -> CallResult {
            let isRevoked =
                sessions.wasRevoked(session.user, since: epoch)
                || sessions.wasWithdrawn(session.authenticator, since: epoch)
                || session.provider.map { sessions.wasLoggedOut($0, since: epoch) } ?? false
            return isRevoked ? .revoked : .overloaded
        }
        return await write(facts, otherwise: ending) { () throws(LedgerUnavailable) in
            let replaced = try await sessions.start(session, since: epoch, limit: authentication.sessionsPerUser)
            guard let replaced else { return nil }
            recordGroups(caller.groups, of: session)
            return .token(issued, of: session.id, replacing: replaced.filter { $0.ends > now }, now: now)
        }
    }

    private func renew(_ session: Session, groups: Set<GroupName>, _ facts: CallFacts) async -> Response {
        guard let issuer = chain.issuer else { return finish(.notIssued, facts, "no authenticator issues tokens") }
        let now = clocks.wall()
        let issued: IssuedToken
        do throws(TokenIssueError) {
            issued = try issuer.issue(for: session.user, groups: groups, in: session, now: now)
        } catch {
            return finish(.notIssued, facts, error.detail)
        }
        return await write(facts) { () throws(LedgerUnavailable) in
            guard try await sessions.renew(session.id) else { return nil }
            recordGroups(groups, of: session)
            return .token(issued, of: session.id, now: now)
        }
    }

    /// Returns the lifetime of a new session. It is shorter if the status of the account is known only at a login.
    private func lifetime(of caller: Identity, by issuer: any TokenIssuer) -> Duration {
        chain.authenticatorsWithoutStatus.contains(caller.authenticator)
            ? min(issuer.sessionLifetime, authentication.sessionLifetimeWithoutStatus) : issuer.sessionLifetime
    }

    /// Records the current groups of the account if its authenticator is queried for them again later.
    private func recordGroups(_ groups: Set<GroupName>, of session: Session) {
        if chain.requiresRecheck(session.authenticator) { sessions.storeGroups(groups, of: session.account) }
    }

    /// Performs the write, and responds as it says. If it failed, nothing has changed, and the caller may try again.
    ///
    /// - Parameters:
    ///   - otherwise: Returns the result if the operation has none.
    ///   - operation: Returns the response to success; nil if the user or the session was revoked meanwhile.
    private func write(
        _ facts: CallFacts, otherwise: () -> CallResult = { .revoked },
        _ operation: () async throws(LedgerUnavailable) -> Response?
    ) async -> Response {
        do throws(LedgerUnavailable) {
            let response = try await operation()
            let result = response == nil ? otherwise() : .accepted
            let detail =
                result == .overloaded
                ? "other sessions of the user that began at the same time have ended this one"
                : "the user or the session was revoked meanwhile"
            return finish(result, facts, detail, or: response)
        } catch {
            return finish(.ledgerUnavailable, facts, "ledger: \(error.detail)")
        }
    }

    private func finish(
        _ result: CallResult, _ facts: CallFacts, _ detail: String, or response: Response? = nil
    ) -> Response {
        journal.append(JournalRecord(.outcome, facts: facts, result: result.rawValue))
        return respond(to: result, facts, detail, extra: result.extra, or: response)
    }

    private func respond(
        to result: CallResult, _ facts: CallFacts, _ detail: String, extra: Rejection.Extra?,
        or response: Response? = nil
    ) -> Response {
        guard let code = result.rejection else { return response ?? .empty(204) }
        logger.warning(
            "Local endpoint failed",
            metadata: ["call": "\(facts.call)", "code": "\(code.rawValue)", "detail": "\(detail)"])
        return ProblemDocument.response(Rejection(code, detail, extra: extra), challenges: challenges)
    }
}
