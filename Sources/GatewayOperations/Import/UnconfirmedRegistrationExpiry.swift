internal import GatewayCore
package import GatewayStore
package import GatewaySupport
package import Logging
internal import ServiceLifecycle

/// The service that deletes imported registrations that no device has confirmed in time. Runs every ten minutes.
package struct UnconfirmedRegistrationExpiry: Service {
    let ledger: StoredLedger
    let sweeper: RegistrationSweeper
    /// The tasks of gateways that share the ledger; nil for a gateway with a ledger of its own.
    let leases: (any TaskLeases)?
    let clocks: Clocks
    let logger: Logger
    var period = Duration.seconds(600)

    /// Creates the service of an open ledger.
    package init(
        ledger: StoredLedger, sweeper: RegistrationSweeper, leases: (any TaskLeases)? = nil, clocks: Clocks,
        logger: Logger
    ) {
        self.ledger = ledger
        self.sweeper = sweeper
        self.leases = leases
        self.clocks = clocks
        self.logger = logger
    }

    package func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat { await expire() } while (try? await Task.sleep(for: period)) != nil
        }
    }

    /// Marks the expired registrations for deletion. The sweeper deletes them, each with its own intent and outcome
    /// record. Of gateways that share the ledger one does so, because the time in which a gateway runs must count once.
    func expire() async {
        do throws(LedgerUnavailable) {
            if let leases, try await !leases.acquire(.importExpiry) { return }
            let count = try await ledger.expireUnconfirmed(now: clocks.wall())
            guard count > 0 else { return }
            logger.notice("Unconfirmed registrations expired", metadata: ["count": "\(count)"])
            sweeper.wake()
        } catch {
            logger.error("Unconfirmed registrations could not be expired", metadata: ["detail": "\(error.detail)"])
        }
    }
}
