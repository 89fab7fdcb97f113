internal import AsyncHTTPClient
public import GatewayCore
internal import Logging
internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix
internal import Synchronization

/// Judges credentials by asking the service.
///
/// The client has event loops of its own; a call waits without holding any thread, and resumes on its own loop.
public final class ForwardAuthAuthenticator: Authenticator {
    private let settings: ForwardAuthPlugin.Settings
    private let context: PluginContext
    private let client: HTTPClient
    private let underWay = Atomic(0)

    init(_ settings: ForwardAuthPlugin.Settings, context: PluginContext) {
        self.settings = settings
        self.context = context
        let timeout = TimeAmount(settings.delegation.timeout)
        var configuration = HTTPClient.Configuration(
            // A redirect would carry the credential to wherever the service says.
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

    /// Judges a credential. Resumes on the caller's loop when the service has answered or the deadline has passed.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        guard settings.delegation.kinds.contains(credential.kind) else { return .notMine }
        guard let authorization = AuthorizationField(credential) else { return stranger(.malformed) }
        var expected: UserName?
        if case .password(let login, _) = credential {
            expected = context.names.canonical(login.text)
            // Whatever the service said, no identity could come of it.
            if expected == nil { return stranger(.unmapped) }
        }
        guard
            underWay.add(1, ordering: .relaxed).newValue <= settings.delegation.connections + settings.delegation.queue
        else {
            underWay.subtract(1, ordering: .relaxed)
            return .unavailable(.busy)
        }
        defer { underWay.subtract(1, ordering: .relaxed) }
        do {
            switch try await ask(authorization, peer) {
            case .rejected: return .rejected(credential.kind == .bearer ? .untrusted : .wrong)
            case .accepted(let user, let groups): return accepted(user, groups, expected: expected)
            case .none(let reason): return unavailable(.failed, reason)
            }
        } catch let error as HTTPClientError
            where [.deadlineExceeded, .readTimeout, .connectTimeout].contains(error)
        {
            return unavailable(.timedOut, "it did not answer in time")
        } catch {
            return unavailable(.failed, "\(error)")
        }
    }

    private func ask(_ authorization: AuthorizationField, _ peer: Peer) async throws -> ServiceAnswer {
        var fields: HTTPHeaders = ["Authorization": authorization.text, "User-Agent": "notify-gateway"]
        switch peer.address {
        case .v4, .v6: fields.add(name: "X-Forwarded-For", value: peer.text)
        case .local: break
        }
        let request = try HTTPClient.Request(url: settings.url, method: .GET, headers: fields)
        let delegate = AnswerDelegate(userHeader: settings.userHeader, groupsHeader: settings.groupsHeader)
        // The deadline is for the whole exchange, the body included.
        let task = client.execute(
            request: request, delegate: delegate, deadline: .now() + TimeAmount(settings.delegation.timeout))
        return try await task.futureResult.get()
    }

    private func accepted(_ name: String, _ groups: Set<GroupName>, expected: UserName?) -> AuthenticationOutcome {
        let user = context.names.canonical(name)
        if let expected, user != expected {
            context.logger.error(
                "the service accepted another user than the one who logs in; nobody is let in",
                metadata: ["user": "\(expected)", "answered": "\(name.prefix(256))"])
            return .unavailable(.failed)
        }
        guard let user else { return .rejected(.unmapped) }
        return .accepted(Identity(user: user, groups: groups, authenticator: ForwardAuthPlugin.name))
    }

    private func unavailable(_ outage: OutageReason, _ reason: String) -> AuthenticationOutcome {
        context.logger.warning("the service gave no verdict", metadata: ["reason": "\(reason)"])
        return .unavailable(outage)
    }

    /// For what the service cannot be asked about: another authenticator may know it.
    private func stranger(_ reason: RejectionReason) -> AuthenticationOutcome {
        context.isLastOfItsKind ? .rejected(reason) : .notMine
    }
}
