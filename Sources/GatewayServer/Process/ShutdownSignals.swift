internal import Logging
internal import ServiceLifecycle
internal import UnixSignals

/// The signals that stop the gateway. The first starts a graceful shutdown, the second forces the shutdown.
struct ShutdownSignals: Sendable {
    /// Yields a value when the shutdown is forced.
    let forcedShutdown: AsyncStream<Void>
    private let forcedShutdownContinuation: AsyncStream<Void>.Continuation
    private let logger: Logger

    init(logger: Logger) {
        (forcedShutdown, forcedShutdownContinuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
        self.logger = logger
    }

    /// Runs the group until it stops, and stops it on SIGTERM and SIGINT.
    func run(_ group: ServiceGroup) async throws {
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await group.run() }
            tasks.addTask {
                var isStopping = false
                for await signal in signals {
                    if isStopping {
                        logger.warning(
                            "Second signal received; in-flight calls are aborted", metadata: ["signal": "\(signal)"])
                        forcedShutdownContinuation.yield()
                    } else {
                        logger.notice("Gateway stopping", metadata: ["signal": "\(signal)"])
                        isStopping = true
                        await group.triggerGracefulShutdown()
                    }
                }
                // This task ends by cancellation, when the group has stopped.
                try await Task.sleep(for: .seconds(86_400 * 365))
            }
            defer { tasks.cancelAll() }
            _ = try await tasks.next()
        }
    }
}
