internal import GatewayCore
package import GatewayStore
package import GatewaySupport
package import Logging
internal import ServiceLifecycle

/// The service that deletes imported registrations that no device has confirmed in time. Runs every ten minutes.
package struct UnconfirmedRegistrationExpiry: Service {
    let ledger: StoredLedger
    let sweeper: RegistrationSweeper
    let clocks: Clocks
    let logger: Logger
    var period = Duration.seconds(600)

    /// Creates the service of an open ledger.
    package init(ledger: StoredLedger, sweeper: RegistrationSweeper, clocks: Clocks, logger: Logger) {
        self.ledger = ledger
        self.sweeper = sweeper
        self.clocks = clocks
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat { await expire() } while (try? await Task.sleep(for: period)) != nil
        }
    }

    /// Marks the expired registrations for deletion. The sweeper deletes them, each with its own intent and outcome
    /// record.
    func expire() async {
        do throws(LedgerUnavailable) {
            let count = try await ledger.expireUnconfirmed(now: clocks.wall())
            guard count > 0 else { return }
            logger.notice("Unconfirmed registrations expired", metadata: ["count": "\(count)"])
            sweeper.wake()
        } catch {
            logger.error("Unconfirmed registrations could not be expired", metadata: ["detail": "\(error.detail)"])
        }
    }
}
