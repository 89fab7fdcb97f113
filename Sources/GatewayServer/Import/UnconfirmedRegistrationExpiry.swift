internal import GatewayCore
internal import GatewayStore
internal import Logging
internal import ServiceLifecycle

/// Has imported registrations deleted at the backend that no device has confirmed in time.
struct UnconfirmedRegistrationExpiry: Service {
    let ledger: SQLiteLedger
    let sweeper: RegistrationSweeper
    let clocks: Clocks
    let logger: Logger
    var period = Duration.seconds(600)

    func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat { await look() } while (try? await Task.sleep(for: period)) != nil
        }
    }

    /// Marks those whose time is over. The sweeper deletes them, each with an intent and an outcome of its own.
    func look() async {
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
