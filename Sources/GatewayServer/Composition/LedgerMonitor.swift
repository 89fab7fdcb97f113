internal import GatewayCore
internal import GatewayStore
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// Watches over the ledger while the gateway runs: looks through its file once, tries to write it every five seconds, and counts
/// its registrations for the metrics.
final class LedgerMonitor: Service {
    private let ledger: SQLiteLedger
    private let logger: Logger
    private let counted = Mutex<[SQLiteLedger.RegistrationCount]>([])

    /// How often the ledger is written for a test. A disk that is frozen is noticed by the test that does not end.
    private static let testPeriod = Duration.seconds(5)
    /// How often registrations are counted, where anything has changed.
    private static let countPeriod = Duration.seconds(30)

    init(ledger: SQLiteLedger, logger: Logger) {
        self.ledger = ledger
        self.logger = logger
    }

    /// How many registrations there were when they were counted last.
    var registrations: [SQLiteLedger.RegistrationCount] { counted.withLock(\.self) }

    /// Whether registrations can be changed, as far as is known.
    var isUp: Bool { ledger.fault == nil }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { tasks in
                tasks.addTask { await self.check() }
                tasks.addTask {
                    // Each on its own: a test write that waits for a frozen disk must not keep the log from telling.
                    while (try? await Task.sleep(for: Self.testPeriod)) != nil {
                        Task { await self.ledger.testWrite() }
                    }
                }
                tasks.addTask { await self.tell() }
                tasks.addTask {
                    var known: UInt64?
                    repeat { await self.count(&known) } while (try? await Task.sleep(for: Self.countPeriod)) != nil
                }
            }
        }
    }

    /// Looks through the file, while calls are served.
    private func check() async {
        do throws(LedgerUnavailable) {
            // What it finds is in `fault` from then on.
            _ = try await ledger.checkIntegrity()
        } catch {
            logger.error("Ledger integrity check could not run", metadata: ["detail": "\(error.detail)"])
        }
    }

    /// Logs when the ledger goes out of order, and when it is in order again.
    private func tell() async {
        var told: String?
        repeat {
            let fault = ledger.fault
            if (fault == nil) != (told == nil) {
                if let fault {
                    logger.critical(
                        "Ledger is unusable; registrations are rejected", metadata: ["detail": "\(fault)"])
                } else {
                    logger.notice("Ledger recovered")
                }
            }
            told = fault
        } while (try? await Task.sleep(for: .seconds(1))) != nil
    }

    private func count(_ known: inout UInt64?) async {
        let changes = ledger.changes
        guard known != changes, let found = try? await ledger.registrationCounts() else { return }
        known = changes
        counted.withLock { $0 = found }
    }
}
