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
        try await withGracefulShutdownHandler {
            do {
                try await NIOThreadPool.singleton.runIfActive { try self.restore() }
                sends.endRestoration(.success(()))
            } catch {
                let error = error as? JournalUnavailable ?? JournalUnavailable("the gateway stops")
                sends.endRestoration(.failure(error))
                if !isStopping.load(ordering: .relaxed) { throw error }
            }
            try? await gracefulShutdown()
        } onGracefulShutdown: {
            self.isStopping.store(true, ordering: .relaxed)
        }
    }

    /// Reads the sends. Blocks.
    private func restore() throws {
        let now = stores.sessions.confirmedTime
        let start = stores.clocks.monotonic().nanoseconds
        var count = 0
        try stores.readIdempotentSends(now: now) { send in
            if isStopping.load(ordering: .relaxed) { throw CancellationError() }
            sends.restore(send, at: now)
            count += 1
        }
        if count == 0 { return }
        let milliseconds = (stores.clocks.monotonic().nanoseconds - start) / 1_000_000
        logger.info(
            "Sends with an idempotency key restored", metadata: ["sends": "\(count)", "ms": "\(milliseconds)"])
    }
}
