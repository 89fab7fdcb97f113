public import GatewayCore
internal import Logging
internal import NIOCore
internal import NIOPosix

/// Judges credentials by asking the process.
///
/// All connections live on one event loop; a call hands its question over to that loop and resumes on its own.
public final class ExternalProcessAuthenticator: Authenticator {
    private let settings: ExternalProcessPlugin.Settings
    private let context: PluginContext
    private let loop: any EventLoop
    private let pool: NIOLoopBound<DialoguePool>

    init(
        _ settings: ExternalProcessPlugin.Settings, context: PluginContext, backOff: BackOff = BackOff()
    ) async throws {
        self.settings = settings
        self.context = context
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        self.loop = loop
        let connector = SocketConnector(path: settings.socket, loop: loop, blockingPool: context.blockingPool)
        let bounds = DialoguePool.Bounds(
            connections: settings.delegation.connections, queue: settings.delegation.queue,
            timeout: TimeAmount(settings.delegation.timeout))
        pool = try await loop.submit { [logger = context.logger] in
            NIOLoopBound(
                DialoguePool(bounds, backOff: backOff, on: loop, logger: logger, connect: connector.connect),
                eventLoop: loop)
        }.get()
    }

    deinit {
        let pool = pool
        loop.execute { pool.value.close() }
    }

    /// Judges a credential. Resumes on the caller's loop when the process has answered or the deadline has passed.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        guard settings.delegation.kinds.contains(credential.kind) else { return .notMine }
        guard let request = Request(credential, peer: peer) else { return stranger(.malformed) }
        var expected: UserName?
        if case .password(let login, _) = credential {
            expected = context.names.canonical(login.text)
            // Whatever the process said, no identity could come of it.
            if expected == nil { return stranger(.unmapped) }
        }
        switch await ask(request) {
        case .notMine: return .notMine
        case .rejected(let reason): return .rejected(reason)
        case .unavailable(let reason): return .unavailable(reason)
        case .accepted(let user, let groups): return accepted(user, groups, expected: expected)
        }
    }

    private func ask(_ request: Request) async -> Verdict {
        let pool = pool
        do { return try await loop.flatSubmit { pool.value.ask(request) }.get() } catch { return .unavailable(.failed) }
    }

    private func accepted(
        _ name: String, _ groups: Set<GroupName>, expected: UserName?
    ) -> AuthenticationOutcome {
        let user = context.names.canonical(name)
        if let expected, user != expected {
            context.logger.error(
                "the process accepted another user than the one who logs in; nobody is let in",
                metadata: ["user": "\(expected)", "answered": "\(name.prefix(256))"])
            return .unavailable(.failed)
        }
        guard let user else { return .rejected(.unmapped) }
        return .accepted(Identity(user: user, groups: groups, authenticator: ExternalProcessPlugin.name))
    }

    /// For what the process cannot be asked about: another authenticator may know it.
    private func stranger(_ reason: RejectionReason) -> AuthenticationOutcome {
        context.isLastOfItsKind ? .rejected(reason) : .notMine
    }
}
