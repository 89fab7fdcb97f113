public import GatewayCore
internal import Logging
internal import NIOCore
internal import NIOPosix

/// The authenticator that verifies credentials by querying the external process.
///
/// All connections belong to one event loop. A call sends its request to that loop and resumes on its own executor.
public final class ExternalProcessAuthenticator: Authenticator {
    private let settings: ExternalProcessPlugin.Settings
    private let context: PluginContext
    private let loop: any EventLoop
    private let pool: NIOLoopBound<ProcessConnectionPool>

    init(
        _ settings: ExternalProcessPlugin.Settings, context: PluginContext, backOff: Backoff = Backoff()
    ) async throws {
        self.settings = settings
        self.context = context
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        self.loop = loop
        let connector = SocketConnector(path: settings.socket, loop: loop, blockingPool: context.blockingPool)
        let bounds = ProcessConnectionPool.Bounds(
            connections: settings.delegation.connections, queue: settings.delegation.queue,
            timeout: TimeAmount(settings.delegation.timeout))
        pool = try await loop.submit { [logger = context.logger] in
            NIOLoopBound(
                ProcessConnectionPool(bounds, backOff: backOff, on: loop, logger: logger, connect: connector.connect),
                eventLoop: loop)
        }.get()
    }

    deinit {
        let pool = pool
        loop.execute { pool.value.close() }
    }

    /// Verifies a credential. Resumes on the caller's executor after the process's response or the deadline.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        guard settings.delegation.kinds.contains(credential.kind) else { return .notMine }
        guard let request = Request(credential, peer: peer) else { return unsendable(.malformed) }
        var expected: UserName?
        if case .password(let login, _) = credential {
            expected = context.names.unambiguousCanonical(login.text)
            // A name without canonical form cannot become an identity, whatever the process responds.
            if expected == nil { return unsendable(.unmapped) }
        }
        switch await query(request) {
        case .notMine: return .notMine
        case .rejected(let reason): return .rejected(reason)
        case .unavailable(let reason): return .unavailable(reason)
        case .accepted(let user, let groups): return accepted(user, groups, expected: expected)
        }
    }

    private func query(_ request: Request) async -> AuthenticationReply {
        let pool = pool
        do {
            return try await loop.flatSubmit { pool.value.query(request) }.get()
        } catch {
            return .unavailable(.failed)
        }
    }

    private func accepted(
        _ name: String, _ groups: Set<GroupName>, expected: UserName?
    ) -> AuthenticationOutcome {
        let user = context.names.unambiguousCanonical(name)
        if let expected, user != expected {
            context.logger.error(
                "Process accepted another user than the one logging in; login failed",
                metadata: ["user": "\(expected)", "accepted": "\(name.prefix(256))"])
            return .unavailable(.failed)
        }
        guard let user else { return .rejected(.unmapped) }
        return .accepted(Identity(user: user, groups: groups, authenticator: ExternalProcessPlugin.name))
    }

    /// Returns the result for a credential that cannot be sent to the process. Another authenticator may accept it.
    private func unsendable(_ reason: InvalidCredentialReason) -> AuthenticationOutcome {
        context.isLastOfItsKind ? .rejected(reason) : .notMine
    }
}
