internal import GatewayCore
internal import GatewayStore
internal import Logging
internal import ServiceLifecycle

/// The service that removes the sends with an idempotency key that have expired or are beyond the bounds, every minute. A
/// new send replaces an expired one before that.
struct KeyedSendExpiry: Service {
    private let register: PostgreSQLKeyedSends
    private let logger: Logger

    private static let period = Duration.seconds(60)

    init(_ register: PostgreSQLKeyedSends, logger: Logger) {
        self.register = register
        self.logger = logger
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat { await removeOld() } while (try? await Task.sleep(for: Self.period)) != nil
        }
    }

    private func removeOld() async {
        do throws(LedgerUnavailable) {
            let count = try await register.removeOld()
            if count > 0 { logger.info("Idempotency keys expired", metadata: ["sends": "\(count)"]) }
        } catch {
            logger.error("Expired idempotency keys could not be removed", metadata: ["detail": "\(error.detail)"])
        }
    }
}
