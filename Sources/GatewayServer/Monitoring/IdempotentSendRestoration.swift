internal import Gateway
internal import GatewayCore
internal import GatewayOperations
internal import GatewayStore
internal import GatewaySupport
internal import Logging
internal import NIOPosix
internal import ServiceLifecycle
internal import Synchronization

/// The service that reads the sends of the last day with an idempotency key from the journal, beside the calls that are served
/// already. Sends with a key wait for its end.
final class IdempotentSendRestoration: Service {
    private let sends: IdempotencyStore
    private let stores: GatewayStores
    private let logger: Logger
    private let isStopping = Atomic(false)

    init(_ sends: IdempotencyStore, _ stores: GatewayStores, logger: Logger) {
        self.sends = sends
        self.stores = stores
        self.logger = logger
    }

    /// Reads the sends, then waits until the gateway stops.
    ///
    /// - Throws: `JournalUnavailable` if the journal cannot be read. The process then has to end: it could make a send twice.
    func run() async throws {
        // The shared threads also open the listeners, which must not wait.
        let thread = NIOThreadPool(numberOfThreads: 1)
        thread.start()
        var failure: JournalUnavailable?
        do {
            try await withTaskCancellationOrGracefulShutdownHandler {
                try await thread.runIfActive { try self.restore() }
            } onCancelOrGracefulShutdown: {
                self.isStopping.store(true, ordering: .relaxed)
            }
            sends.endRestoration(.success(()))
        } catch let error as JournalUnavailable {
            sends.endRestoration(.failure(error))
            failure = error
        } catch {
            sends.cancelRestoration()
        }
        try? await thread.shutdownGracefully()
        if let failure { throw failure }
        try? await gracefulShutdown()
    }

    /// Reads the sends. Blocks.
    private func restore() throws {
        let now = stores.sessions.confirmedTime
        let start = stores.clocks.monotonic().nanoseconds
        var count = 0
        let missing = try stores.readIdempotentSends(now: now) {
            if isStopping.load(ordering: .relaxed) { throw CancellationError() }
        } _: { send in
            sends.restore(send, at: now)
            count += 1
        }
        if !missing.isEmpty {
            logger.error(
                "Journal lacks lines of the last day; a send with an idempotency key among them goes out again if repeated",
                metadata: ["lines": "\(missing.map { "\($0.lowerBound)-\($0.upperBound)" }.joined(separator: " "))"])
        }
        let milliseconds = (stores.clocks.monotonic().nanoseconds - start) / 1_000_000
        if count == 0, milliseconds < 1000 { return }
        logger.info(
            "Sends with an idempotency key restored", metadata: ["sends": "\(count)", "ms": "\(milliseconds)"])
    }
}
