public import GatewayCore

/// The authenticator of a process that also reports the status of accounts (`status: true`).
///
/// Account queries have connections of their own. So a process that is slow to report accounts delays no login.
public final class ExternalProcessAccountAuthenticator: AccountAuthenticator {
    private let logins: ExternalProcessAuthenticator
    private let accounts: ProcessConnections

    init(
        _ settings: ExternalProcessPlugin.Settings, context: PluginContext, backOff: Backoff = Backoff()
    ) async throws {
        logins = try await ExternalProcessAuthenticator(settings, context: context, backOff: backOff)
        accounts = try await ProcessConnections(settings, context: context, requiresStatus: true, backOff: backOff)
    }

    /// Verifies a credential. Resumes on the caller's executor after the process's response or the deadline.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        await logins.authenticate(credential, from: peer)
    }

    /// Returns what the process reports about the account, as for a request.
    public func status(of login: LoginName) async -> AccountStatus { await status(of: login, for: .request) }

    /// Returns what the process reports about the account. The status is unknown if the process does not report it in
    /// time, or speaks version 1 of the protocol.
    public func status(of login: LoginName, for purpose: AccountQueryPurpose) async -> AccountStatus {
        // No login of such a name has ever been sent to the process.
        guard let request = StatusRequest(login) else { return .ended(.wrong) }
        switch await accounts.query(.status(request), hasRoom: purpose == .recheck) {
        case .status(let status): return status
        case .unavailable(let reason): return .unknown(reason)
        // The pool replies to a status query with a status or with a failure.
        case .verdict: return .unknown(.failed)
        }
    }
}
