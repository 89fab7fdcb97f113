internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

/// `tokens list`: lists the sessions of all users or of one.
struct ListTokensOperation: ControlOperation {
    static let name = "tokens list"
    static let arguments: Set<String> = ["user"]

    let sessions: SessionRegister
    let names: NameRules

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let user = try arguments.user("user", by: names)
        let sessions = sessions.allSessions.filter { user == nil || $0.user == user }
        try await context.send(pageOf: sessions.map(\.item))
    }
}

extension Session {
    /// The session as one result.
    var item: JSONValue {
        var members: [JSONValue.Member] = [
            .init("user", .string(user.text)), .init("session", .string(id.text)),
        ]
        if let device { members.append(.init("device", .string(device.text))) }
        members += [
            .init("authenticator", .string(authenticator.text)), .init("began", .string(began.description)),
            .init("renewed", .string(renewed.description)), .init("ends", .string(ends.description)),
        ]
        return .object(members)
    }
}

/// `tokens revoke`: revokes one token, one session, or everything that a user was granted, including registrations.
/// Takes effect at once.
struct RevokeTokensOperation: ControlOperation {
    static let name = "tokens revoke"
    static let arguments: Set<String> = ["user", "session", "token", "until"]

    let ledger: StoredLedger
    let sessions: SessionRegister
    let revocation: UserRevocation
    let names: NameRules

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let user = try arguments.user("user", by: names)
        let session = try arguments.text("session")
        let token = try arguments.text("token")
        let until = try arguments.time("until")
        switch (user, session, token, until) {
        case (let user?, nil, nil, nil):
            let devices = try await withLedger { () async throws(LedgerUnavailable) in
                try await ledger.revocableRegistrations(of: user)
            }
            let logins = sessions.sessions(of: user).count
            let record = try await context.record(.operatorRevoke, user: user)
            // The user is revoked even without sessions and registrations, because a token may exist without a session.
            try await change(record) { () throws(LedgerUnavailable) in
                try await revocation.revokeWithoutRecord(user, because: .byOperator)
            }
            try await report(user, sessions: logins, registrations: devices, in: context)
        case (nil, let text?, nil, nil):
            // A session that an earlier call could close in memory only is closed on disk.
            guard let session = SessionID(text),
                let owner = sessions.session(session)?.user ?? sessions.userOfUnwrittenClose(session)
            else { throw .notFound("There is no such session.") }
            let record = try await context.record(.operatorRevoke, user: owner, target: session.text)
            try await change(record) { () throws(LedgerUnavailable) in
                _ = try await sessions.deleteNow(session, of: owner)
            }
            try await report(owner, sessions: 1, in: context)
        case (let user?, nil, let token?, let until?):
            // No token id is longer.
            guard (1...128).contains(token.utf8.count) else { throw .malformed("token must be a token's id.") }
            let record = try await context.record(.operatorRevoke, user: user, target: token)
            try await change(record) { () throws(LedgerUnavailable) in
                try await sessions.revokeInMemory(token: token, of: user, until: until)
            }
        default:
            throw .malformed("Give a user, a session, or a token with its user and its expiry.")
        }
    }

    /// Sends the user and the numbers of ended sessions and deleted registrations.
    private func report(
        _ user: UserName, sessions: Int, registrations: Int = 0, in context: ControlContext
    ) async throws(ControlError) {
        try await context.send(
            .object([
                .init("user", .string(user.text)), .init("sessions", .number(String(sessions))),
                .init("registrations", .number(String(registrations))),
            ]))
    }

    /// Makes the change. It has effect in memory even if the ledger cannot be written. It then ends with a restart, and
    /// the thrown error says so.
    private func change(
        _ record: OperatorRecord, _ change: () async throws(LedgerUnavailable) -> Void
    ) async throws(ControlError) {
        do throws(LedgerUnavailable) {
            try await change()
        } catch {
            record.failed()
            throw .unavailable(
                "The change has effect until the next start only, because it could not be written: \(error.detail). "
                    + "Repeat the command when the ledger can be written.")
        }
    }
}
