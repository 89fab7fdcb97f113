internal import GatewayCore
internal import GatewayStore
internal import Logging
internal import ServiceLifecycle

/// The service that removes the texts of secure sends that have expired, every minute. Readers do not find them before
/// that either.
struct SecureTextExpiry: Service {
    private let texts: StoredSecureTexts
    /// The source of the time. A wall clock that jumps ahead removes nothing.
    private let sessions: SessionRegister
    private let logger: Logger

    private static let period = Duration.seconds(60)

    init(_ texts: StoredSecureTexts, sessions: SessionRegister, logger: Logger) {
        self.texts = texts
        self.sessions = sessions
        self.logger = logger
    }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat { await removeExpired() } while (try? await Task.sleep(for: Self.period)) != nil
        }
    }

    private func removeExpired() async {
        do throws(LedgerUnavailable) {
            let count = try await texts.removeExpired(at: sessions.confirmedTime)
            if count > 0 {
                logger.info("Texts of secure notifications expired", metadata: ["texts": "\(count)"])
            }
        } catch {
            logger.error(
                "Expired texts of secure notifications could not be removed", metadata: ["detail": "\(error.detail)"])
        }
    }
}
