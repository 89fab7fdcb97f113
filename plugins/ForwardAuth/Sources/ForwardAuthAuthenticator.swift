public import GatewayCore
internal import Logging
internal import NIOHTTP1

/// The authenticator that verifies credentials by querying the HTTP service.
public final class ForwardAuthAuthenticator: Authenticator {
    private let settings: ForwardAuthPlugin.Settings
    private let context: PluginContext
    private let client: ServiceClient

    init(_ settings: ForwardAuthPlugin.Settings, context: PluginContext) {
        self.settings = settings
        self.context = context
        client = ServiceClient(settings.delegation, url: settings.url)
    }

    /// Verifies a credential. Resumes on the caller's executor after the service's response or the deadline.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        guard settings.delegation.kinds.contains(credential.kind) else { return .notMine }
        guard let authorization = AuthorizationField(credential) else { return unsendable(.malformed) }
        var expected: UserName?
        if case .password(let login, _) = credential {
            expected = context.names.unambiguousCanonical(login)
            // A name without canonical form cannot become an identity, whatever the service responds.
            if expected == nil { return unsendable(.unmapped) }
        }
        switch await query(authorization, peer) {
        case .success(.rejected): return .rejected(credential.kind == .bearer ? .untrusted : .wrong)
        case .success(.accepted(let user, let groups)): return accepted(user, groups, expected: expected)
        case .success(.invalid(let reason)): return unavailable(.failed, reason)
        case .failure(.busy): return .unavailable(.busy)
        case .failure(let failure): return unavailable(failure.outage, failure.reason)
        }
    }

    private func query(
        _ authorization: AuthorizationField, _ peer: Peer
    ) async -> Result<ServiceResponse, ServiceClient.Failure> {
        var fields: HTTPHeaders = ["Authorization": authorization.text, "User-Agent": "notify-gateway"]
        switch peer.address {
        case .v4, .v6: fields.add(name: "X-Forwarded-For", value: peer.text)
        case .local: break
        }
        let settings = settings
        return await client.get(settings.url, fields) {
            ServiceResponse(
                $0, userHeader: settings.userHeader, groupsHeader: settings.groupsHeader,
                rejectedStatuses: settings.rejectedStatuses)
        }
    }

    private func accepted(_ name: String, _ groups: Set<GroupName>, expected: UserName?) -> AuthenticationOutcome {
        let user = context.names.unambiguousCanonical(LoginName(name))
        if let expected, user != expected {
            context.logger.error(
                "Service accepted another user than the one logging in; login failed",
                metadata: ["user": "\(expected)", "accepted": "\(name.prefix(256))"])
            return .unavailable(.failed)
        }
        guard let user else { return .rejected(.unmapped) }
        return .accepted(Identity(user: user, groups: groups, authenticator: ForwardAuthPlugin.name))
    }

    private func unavailable(_ outage: OutageReason, _ reason: String) -> AuthenticationOutcome {
        context.logger.warning("Service returned no result", metadata: ["reason": "\(reason)"])
        return .unavailable(outage)
    }

    /// Returns the result for a credential that cannot be sent to the service. Another authenticator may accept it.
    private func unsendable(_ reason: InvalidCredentialReason) -> AuthenticationOutcome {
        context.isLastOfItsKind ? .rejected(reason) : .notMine
    }
}
