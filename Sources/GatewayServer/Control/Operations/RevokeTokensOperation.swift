internal import GatewayCore
internal import GatewayStore

/// `tokens revoke`: takes back one token, a session, or all that a user was granted, registrations too. Counts at once.
struct RevokeTokensOperation: ControlOperation {
    static let name = "tokens revoke"
    static let arguments: Set<String> = ["user", "session", "token", "until"]

    let ledger: SQLiteLedger
    let sessions: SessionRegister
    let revocation: UserRevocation
    let names: NameRules

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let user = try arguments.user("user", by: names)
        let session = try arguments.text("session")
        let token = try arguments.text("token")
        let until = try arguments.number("until")
        switch (user, session, token, until) {
        case (let user?, nil, nil, nil):
            let devices = try await askingLedger { () async throws(LedgerUnavailable) in
                try await ledger.revocableRegistrations(of: user)
            }
            let logins = sessions.sessions(of: user).count
            let record = try await context.record(.operatorRevoke, user: user)
            // Also where nothing is found: a token may be of no session.
            try await change(record) { () throws(LedgerUnavailable) in try await revocation.takeBack(user) }
            try await report(sessions: logins, registrations: devices, in: context)
        case (nil, let text?, nil, nil):
            guard let session = SessionID(text).flatMap(sessions.session) else {
                throw .refused("There is no such session.")
            }
            let record = try await context.record(.operatorRevoke, user: session.user, target: session.id.text)
            try await change(record) { () throws(LedgerUnavailable) in
                _ = try await sessions.endAtOnce(session.id, of: session.user)
            }
            try await report(sessions: 1, in: context)
        case (let user?, nil, let token?, let until?):
            // What is longer is no token's id anywhere.
            guard (1...128).contains(token.utf8.count) else { throw .malformed("token must be a token's id.") }
            let record = try await context.record(.operatorRevoke, user: user, target: token)
            try await change(record) { () throws(LedgerUnavailable) in
                try await sessions.revokeInMemory(token: token, of: user, until: WallTime(seconds: until))
            }
        default:
            throw .malformed("Give a user, or a session, or a token with its user and its end.")
        }
    }

    /// Says how much was ended.
    private func report(
        sessions: Int, registrations: Int = 0, in context: ControlContext
    ) async throws(ControlError) {
        try await context.send(
            .object([
                .init("sessions", .number(String(sessions))), .init("registrations", .number(String(registrations))),
            ]))
    }

    /// What counts in memory counts, whatever the disk says; but whoever asked must know that it will not outlive a restart.
    private func change(
        _ record: OperatorRecord, _ change: () async throws(LedgerUnavailable) -> Void
    ) async throws(ControlError) {
        do throws(LedgerUnavailable) {
            try await change()
        } catch {
            record.failed()
            throw .unavailable("It counts until the next start only, for it could not be written: \(error.detail)")
        }
    }
}
