internal import GatewayCore

/// What a caller has been permitted of the gateway itself.
enum PermittedOwnCall: Sendable {
    case whoami
    /// A password was presented: a session begins, unless its user was revoked since.
    case startSession(DeviceLabel?, login: LoginName, since: RevocationEpoch)
    /// A token of the session was presented, and its account is good, in these groups.
    case renewSession(Session, groups: Set<GroupName>)
    case endSession(SessionID)
    case revokeToken(TokenReference)
    /// The caller's sessions; the one that it presents a token of is told apart.
    case listSessions(current: SessionID?)
    case listRegistrations([OwnedRegistration])
    case listReceived([ReceivedNotification])

    /// The session that is renewed or ended; a new one has no id yet.
    var session: SessionID? {
        switch self {
        case .renewSession(let session, _): session.id
        case .endSession(let id): id
        case .whoami, .startSession, .revokeToken, .listSessions, .listRegistrations, .listReceived: nil
        }
    }

    /// Whether it changes anything, and so is written down first.
    var isRecorded: Bool {
        switch self {
        case .startSession, .renewSession, .endSession, .revokeToken: true
        case .whoami, .listSessions, .listRegistrations, .listReceived: false
        }
    }
}

extension Limit {
    /// How often a user may ask who notified it.
    static let history = Limit(name: "notifications-received", per: [.user], count: 10, period: .seconds(60))
}

extension Authorization {
    func permit(
        _ call: OwnCall, _ caller: Identity, at peer: Peer, login: LoginName?, since epoch: RevocationEpoch
    ) async throws(Refusal) -> PermittedOwnCall {
        switch call {
        case .whoami:
            return .whoami
        case .listSessions:
            return .listSessions(current: caller.token?.session)
        case .listRegistrations:
            do throws(LedgerUnavailable) {
                return .listRegistrations(try await ledger.registrations(of: caller.user))
            } catch {
                throw Refusal(.ledgerUnavailable, "ledger: \(error.detail)", extra: .retryAfter(seconds: 5))
            }
        case .listReceived(let since, let limit):
            // Asking the journal costs more than any other call, so it has a limit of its own.
            try historyLimiter.admit(caller, at: peer, sending: nil)
            do throws(HistoryUnavailable) {
                return .listReceived(try await history.received(by: caller.user, since: since, limit: limit))
            } catch {
                throw Refusal(.journalUnavailable, "history: \(error.detail)", extra: .retryAfter(seconds: 5))
            }
        case .endSession(let id):
            // Another's and one that never was are the same.
            guard sessions.session(id)?.user == caller.user else {
                throw Refusal(.notOwner, "the session is none of the caller's")
            }
            return .endSession(id)
        case .endToken:
            guard let token = caller.token else {
                throw Refusal(
                    .credentialsRejected, "a token is ended with a token", hint: "Present the token that is to end.")
            }
            return token.session.map(PermittedOwnCall.endSession) ?? .revokeToken(token)
        case .issueToken(let device):
            if let login { return .startSession(device, login: login, since: epoch) }
            return try await renewal(by: caller)
        }
    }

    /// A session outlives its tokens only while the account that it began with is good.
    private func renewal(by caller: Identity) async throws(Refusal) -> PermittedOwnCall {
        guard let session = caller.token?.session.flatMap(sessions.session) else {
            throw Refusal(
                .credentialsRejected, "the token is of no session",
                hint: "Only a token that was got with a password is exchanged for another.")
        }
        switch await chain.standing(of: session.account) {
        case .good(let groups): return .renewSession(session, groups: groups)
        case nil: return .renewSession(session, groups: caller.groups)
        case .ended(let reason): throw Refusal(.credentialsRejected, "the session's account: \(reason.rawValue)")
        case .unknown(let reason):
            throw Refusal(.authenticatorUnavailable, reason.rawValue, extra: .retryAfter(seconds: 5))
        }
    }
}
