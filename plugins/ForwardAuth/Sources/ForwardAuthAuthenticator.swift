internal import AsyncHTTPClient
public import GatewayCore
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization

/// The authenticator that verifies credentials by querying the HTTP service.
///
/// The client has event loops of its own. A call waits without a thread and resumes on its own executor.
public final class ForwardAuthAuthenticator: Authenticator {
    private let settings: ForwardAuthPlugin.Settings
    private let context: PluginContext
    private let client: HTTPClient
    private let inProgress = Atomic(0)

    init(_ settings: ForwardAuthPlugin.Settings, context: PluginContext) {
        self.settings = settings
        self.context = context
        let timeout = TimeAmount(settings.delegation.timeout)
        var configuration = HTTPClient.Configuration(
            // A redirect would send the credential to an address of the service's choice.
            redirectConfiguration: .disallow,
            timeout: .init(connect: min(timeout, .seconds(2)), read: timeout),
            connectionPool: .init(
                idleTimeout: .seconds(30), concurrentHTTP1ConnectionsPerHostSoftLimit: settings.delegation.connections))
        configuration.httpVersion = .http1Only
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: configuration)
    }

    deinit {
        // The client keeps itself alive until it has closed its connections.
        client.shutdown { _ in }
    }

    /// Verifies a credential. Resumes on the caller's executor after the service's response or the deadline.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        guard settings.delegation.kinds.contains(credential.kind) else { return .notMine }
        guard let authorization = AuthorizationField(credential) else { return unsendable(.malformed) }
        var expected: UserName?
        if case .password(let login, _) = credential {
            expected = context.names.unambiguousCanonical(login.text)
            // A name without canonical form cannot become an identity, whatever the service responds.
            if expected == nil { return unsendable(.unmapped) }
        }
        let limit = settings.delegation.connections + settings.delegation.queue
        guard inProgress.add(1, ordering: .relaxed).newValue <= limit else {
            inProgress.subtract(1, ordering: .relaxed)
            return .unavailable(.busy)
        }
        defer { inProgress.subtract(1, ordering: .relaxed) }
        do {
            switch try await query(authorization, peer) {
            case .rejected: return .rejected(credential.kind == .bearer ? .untrusted : .wrong)
            case .accepted(let user, let groups): return accepted(user, groups, expected: expected)
            case .invalid(let reason): return unavailable(.failed, reason)
            }
        } catch let error as HTTPClientError
            where [.deadlineExceeded, .readTimeout, .connectTimeout].contains(error)
        {
            return unavailable(.timedOut, "no response before the deadline")
        } catch {
            return unavailable(.failed, ServiceFailure.reason(of: error))
        }
    }

    private func query(_ authorization: AuthorizationField, _ peer: Peer) async throws -> ServiceResponse {
        var fields: HTTPHeaders = ["Authorization": authorization.text, "User-Agent": "notify-gateway"]
        switch peer.address {
        case .v4, .v6: fields.add(name: "X-Forwarded-For", value: peer.text)
        case .local: break
        }
        let request = try HTTPClient.Request(url: settings.url, method: .GET, headers: fields)
        let delegate = ResponseDelegate(userHeader: settings.userHeader, groupsHeader: settings.groupsHeader)
        // The deadline covers the whole exchange, including the body.
        let task = client.execute(
            request: request, delegate: delegate, deadline: .now() + TimeAmount(settings.delegation.timeout))
        return try await task.futureResult.get()
    }

    private func accepted(_ name: String, _ groups: Set<GroupName>, expected: UserName?) -> AuthenticationOutcome {
        let user = context.names.unambiguousCanonical(name)
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
