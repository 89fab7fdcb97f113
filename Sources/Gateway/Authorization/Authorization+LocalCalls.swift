internal import GatewayCore

/// An authorized call to one of the gateway's own endpoints.
enum PermittedLocalCall: Sendable {
    case whoami
    /// Starts a session after a login, unless the user was revoked since the epoch.
    case startSession(DeviceLabel?, login: LoginName, since: RevocationEpoch)
    /// Renews the session of the presented token. Its account is valid and belongs to these groups.
    case renewSession(Session, groups: Set<GroupName>)
    case deleteSession(SessionID)
    case revokeToken(TokenReference)
    /// Lists the caller's sessions and marks the one of the presented token.
    case listSessions(current: SessionID?)
    case listRegistrations([OwnedRegistration])
    case listReceived([ReceivedNotification])
    /// Cancels a scheduled send at the backend, unless the caller is revoked before the request to it.
    case cancelSend(ScheduledSendReference, CallerRevocationCheck)
    case fetchNotification(SecureText)
    case listNotifications([UnfetchedText])

    /// The session that is renewed or closed; nil for a new one, which has no id yet.
    var session: SessionID? {
        switch self {
        case .renewSession(let session, _): session.id
        case .deleteSession(let id): id
        case .whoami, .startSession, .revokeToken, .listSessions, .listRegistrations, .listReceived, .cancelSend,
            .fetchNotification, .listNotifications:
            nil
        }
    }

    /// The secure notification that is read.
    var secureID: SecureID? {
        if case .fetchNotification(let text) = self { text.id } else { nil }
    }

    /// The backend's id of the scheduled notification that is cancelled.
    var notification: String? {
        if case .cancelSend(let reference, _) = self { reference.notification } else { nil }
    }

    /// Whether the call changes anything or discloses a text, and therefore is recorded first.
    var isRecorded: Bool {
        switch self {
        case .startSession, .renewSession, .deleteSession, .revokeToken, .cancelSend, .fetchNotification: true
        case .whoami, .listSessions, .listRegistrations, .listReceived, .listNotifications: false
        }
    }
}

extension Limit {
    /// The limit of a user's queries of received notifications.
    static let history = Limit(name: "notifications-received", per: [.user], count: 10, period: .seconds(60))
}

extension Authorization {
    /// Authorizes a call that the gateway serves without the backend, and reads the data that its response lists.
    func permit(
        _ call: LocalCall, _ caller: Identity, at peer: Peer, login: LoginName?, _ revocation: CallerRevocationCheck
    ) async throws(Rejection) -> PermittedLocalCall {
        switch call {
        case .whoami:
            return .whoami
        case .listSessions:
            return .listSessions(current: caller.token?.session)
        case .listRegistrations:
            do throws(LedgerUnavailable) {
                return .listRegistrations(try await ledger.registrations(of: caller.user))
            } catch {
                throw Rejection(.ledgerUnavailable, "ledger: \(error.detail)", extra: .retryAfter(seconds: 5))
            }
        case .listReceived(let since, let limit):
            // A query of the journal is more expensive than any other call, so it has a limit of its own.
            try historyLimiter.admit(caller, at: peer, sending: nil)
            do throws(HistoryUnavailable) {
                return .listReceived(try await history.received(by: caller.user, since: since, limit: limit))
            } catch {
                throw Rejection(.journalUnavailable, "history: \(error.detail)", extra: .retryAfter(seconds: 5))
            }
        case .fetchNotification(let id):
            return try await fetch(id, caller, at: peer)
        case .listNotifications(let since, let limit):
            return try await listUnfetched(caller, since: since, limit: limit)
        case .cancelSend(let text):
            guard let reference = ScheduledSendReference(text, givenTo: caller.user, digester) else {
                throw Rejection(
                    .notOwner, "the reference is not of a scheduled send of the caller",
                    hint: "This is not a scheduled notification of yours.")
            }
            return .cancelSend(reference, revocation)
        case .deleteSession(let id):
            // A session of another user and an unknown session are indistinguishable.
            guard sessions.session(id)?.user == caller.user else {
                throw Rejection(.notOwner, "the session does not belong to the caller")
            }
            return .deleteSession(id)
        case .providerLogout:
            // The pipeline serves it before the authentication; only a dry run gets here.
            throw Rejection(.credentialsRejected, "only an identity provider makes the call, with a logout token")
        case .deleteToken:
            guard let token = caller.token else {
                throw Rejection(
                    .credentialsRejected, "no token was presented", hint: "Present the token to revoke.")
            }
            return token.session.map(PermittedLocalCall.deleteSession) ?? .revokeToken(token)
        case .issueToken(let device):
            if let login { return .startSession(device, login: login, since: revocation.epoch) }
            return try await renewal(by: caller)
        }
    }

    /// Authorizes the renewal of a session only while the account that it began with is valid.
    private func renewal(by caller: Identity) async throws(Rejection) -> PermittedLocalCall {
        guard let session = caller.token?.session.flatMap(sessions.session) else {
            throw Rejection(
                .credentialsRejected, "the token has no session",
                hint: "Only a token of a session, or of an identity provider, can be exchanged for another.")
        }
        switch await chain.status(of: session.account) {
        case .valid(let groups): return .renewSession(session, groups: groups)
        case nil: return .renewSession(session, groups: caller.groups)
        case .ended(let reason):
            throw Rejection(.credentialsRejected, "the account of the session is not valid: \(reason.rawValue)")
        case .unknown(.busy):
            throw Rejection(
                .overloaded, "too many accounts are waiting for their status", extra: .retryAfter(seconds: 1))
        case .unknown(let reason):
            throw Rejection(.authenticatorUnavailable, reason.rawValue, extra: .retryAfter(seconds: 5))
        }
    }
}
