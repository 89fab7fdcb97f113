internal import GatewayCore
internal import NIOCore
internal import NIOPosix

/// A connection pool that any executor may use. All its connections belong to one event loop.
final class ProcessConnections: Sendable {
    private let loop: any EventLoop
    private let pool: NIOLoopBound<ProcessConnectionPool>

    /// Creates the pool. The first query opens the first connection.
    ///
    /// - Parameter requiresStatus: whether the queries are about the status of accounts.
    init(
        _ settings: ExternalProcessPlugin.Settings, context: PluginContext, requiresStatus: Bool = false,
        backOff: Backoff
    ) async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        self.loop = loop
        let connector = SocketConnector(path: settings.socket, loop: loop, blockingPool: context.blockingPool)
        let bounds = ProcessConnectionPool.Bounds(
            connections: settings.delegation.connections, queue: settings.delegation.queue,
            timeout: TimeAmount(settings.delegation.timeout))
        pool = try await loop.submit { [logger = context.logger] in
            NIOLoopBound(
                ProcessConnectionPool(
                    bounds, backOff: backOff, on: loop, logger: logger, requiresStatus: requiresStatus,
                    connect: connector.connect), eventLoop: loop)
        }.get()
    }

    deinit {
        let pool = pool
        loop.execute { pool.value.close() }
    }

    /// Queries the process. Resumes on the caller's executor after the reply or the deadline.
    ///
    /// - Parameter hasRoom: Whether the query has room beside a full queue.
    func query(_ request: ProcessRequest, hasRoom: Bool = false) async -> ProcessReply {
        let pool = pool
        do {
            return try await loop.flatSubmit { pool.value.query(request, hasRoom: hasRoom) }.get()
        } catch {
            return .unavailable(.unreachable)
        }
    }
}
