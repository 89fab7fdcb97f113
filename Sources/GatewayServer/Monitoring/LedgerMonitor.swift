internal import GatewayCore
internal import GatewayStore
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// The service that monitors the ledger: checks the integrity of its file once, tests a write every five seconds, and
/// counts the registrations for the metrics.
final class LedgerMonitor: Service {
    private let ledger: StoredLedger
    private let logger: Logger
    private let counted = Mutex<[StoredLedger.RegistrationCount]>([])

    /// The period of test writes. If the disk hangs, the test write does not return, and that is detected.
    private static let testPeriod = Duration.seconds(5)
    /// The period at which registrations are counted if the ledger has changed.
    private static let countPeriod = Duration.seconds(30)

    init(ledger: StoredLedger, logger: Logger) {
        self.ledger = ledger
        self.logger = logger
    }

    /// The number of registrations by state, at the last count.
    var registrations: [StoredLedger.RegistrationCount] { counted.withLock(\.self) }

    /// Whether registrations can be changed, as far as is known.
    var isUp: Bool { ledger.fault == nil }

    /// Runs until the gateway stops.
    ///
    /// - Throws: `LedgerUnavailable` if another process has taken the place of this gateway, or if the store is another
    ///   one. The process then has to end: it can never change the ledger again, and its sessions are out of date.
    func run() async throws {
        try await cancelWhenGracefulShutdown {
            try await withThrowingTaskGroup { tasks in
                tasks.addTask { await self.check() }
                tasks.addTask {
                    // Each test write has its own task, so one that hangs does not delay the log.
                    while (try? await Task.sleep(for: Self.testPeriod)) != nil {
                        Task { await self.ledger.testWrite() }
                    }
                }
                tasks.addTask { try await self.logChanges() }
                tasks.addTask {
                    var known: UInt64?
                    repeat { await self.count(&known) } while (try? await Task.sleep(for: Self.countPeriod)) != nil
                }
                // Not `waitForAll`, which throws an error only once the other tasks have ended too.
                while try await tasks.next() != nil {}
            }
        }
    }

    /// Checks the integrity of the ledger's file while calls are served.
    private func check() async {
        do throws(LedgerUnavailable) {
            // The result is in `ledger.fault` from then on.
            _ = try await ledger.checkIntegrity()
        } catch {
            logger.error("Ledger integrity check could not run", metadata: ["detail": "\(error.detail)"])
        }
    }

    /// Logs when the ledger becomes unusable and when it recovers. Polls every second. Throws once this gateway
    /// can never change the ledger again.
    private func logChanges() async throws(LedgerUnavailable) {
        var logged: String?
        repeat {
            if let reason = ledger.lossReason { throw LedgerUnavailable(reason) }
            let fault = ledger.fault
            if (fault == nil) != (logged == nil) {
                if let fault {
                    logger.critical(
                        "Ledger is unusable; registrations are rejected", metadata: ["detail": "\(fault)"])
                } else {
                    logger.notice("Ledger recovered")
                }
            }
            logged = fault
        } while (try? await Task.sleep(for: .seconds(1))) != nil
    }

    private func count(_ known: inout UInt64?) async {
        let changes = ledger.changes
        guard known != changes, let found = try? await ledger.registrationCounts() else { return }
        known = changes
        counted.withLock { $0 = found }
    }
}
