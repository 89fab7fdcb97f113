public import GatewayCore
internal import GatewaySupport
internal import Logging
internal import NIOHTTP1
internal import Synchronization

/// The authenticator of a service that also reports the status of accounts (`status-url`).
///
/// Account queries have connections of their own, and so have those of the recheck. So a service that is slow to report
/// accounts delays no login, and requests of users keep no recheck waiting.
public final class ForwardAuthAccountAuthenticator: AccountAuthenticator {
    private let settings: ForwardAuthPlugin.Settings
    private let status: ForwardAuthPlugin.Settings.StatusService
    private let context: PluginContext
    private let logins: ForwardAuthAuthenticator
    private let client: ServiceClient
    private let rechecks: ServiceClient
    /// The reason of the last query without a result, if the queries since then had none either.
    private let loggedReason = Mutex<String?>(nil)

    init(
        _ settings: ForwardAuthPlugin.Settings, _ status: ForwardAuthPlugin.Settings.StatusService,
        context: PluginContext
    ) {
        self.settings = settings
        self.status = status
        self.context = context
        logins = ForwardAuthAuthenticator(settings, context: context)
        client = ServiceClient(settings.delegation, url: status.url)
        var bounds = settings.delegation
        (bounds.connections, bounds.queue) = (Self.recheckConnections, Self.recheckConnections)
        rechecks = ServiceClient(bounds, url: status.url)
    }

    /// The number of connections for the recheck, which makes as many queries at once.
    private static let recheckConnections = 2

    /// Verifies a credential. Resumes on the caller's executor after the service's response or the deadline.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        await logins.authenticate(credential, from: peer)
    }

    /// Returns what the service reports about the account, as for a request.
    public func status(of login: LoginName) async -> AccountStatus { await status(of: login, for: .request) }

    /// Returns what the service reports about the account. Resumes on the caller's executor after the service's
    /// response or the deadline.
    public func status(of login: LoginName, for purpose: AccountQueryPurpose) async -> AccountStatus {
        // No login of such a name has ever been sent to the service.
        guard let user = context.names.unambiguousCanonical(login),
            let url = StatusQuery.url(status.url, for: login)
        else { return .ended(.wrong) }
        var fields: HTTPHeaders = ["User-Agent": "notify-gateway"]
        if let token = status.token {
            fields.add(
                name: "Authorization", value: "Bearer " + token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
        }
        let (names, userHeader, groupsHeader) = (context.names, settings.userHeader, settings.groupsHeader)
        let response = await (purpose == .recheck ? rechecks : client).get(url, fields) { head in
            StatusResponse(head, userHeader: userHeader, groupsHeader: groupsHeader) {
                names.unambiguousCanonical(LoginName($0)) == user
            }
        }
        switch response {
        case .success(.status(let status)):
            loggedReason.withLock { $0 = nil }
            return status
        case .success(.invalid(let reason)):
            log(reason)
            return .unknown(.failed)
        case .failure(let failure):
            log(failure.reason)
            return .unknown(failure.outage)
        }
    }

    /// Logs a reason unless the query before failed for the same one. Accounts are queried in large numbers.
    private func log(_ reason: String) {
        let isNew = loggedReason.withLock { logged in
            defer { logged = reason }
            return logged != reason
        }
        if isNew {
            context.logger.warning("Service did not report the status of an account", metadata: ["reason": "\(reason)"])
        }
    }
}
