internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// Records the heads of the other gateways' journals in this gateway's journal, and removes expired lines from the shared
/// store, once a minute.
final class SharedJournalMaintenance: Service {
    private let copy: JournalCopy
    private let journal: JournalFile
    private let clocks: Clocks
    private let logger: Logger
    private let keep: Mutex<Duration>
    /// The heads that were recorded last, by the node.
    private let recorded = Mutex<[String: NodeHead]>([:])

    private static let period = Duration.seconds(60)

    /// Creates the service.
    ///
    /// - Parameter keep: How long the journal keeps its lines.
    init(_ copy: JournalCopy, _ journal: JournalFile, keep: Duration, clocks: Clocks, logger: Logger) {
        self.copy = copy
        self.journal = journal
        self.keep = Mutex(keep)
        self.clocks = clocks
        self.logger = logger
    }

    /// Changes how long the journal keeps its lines.
    func setKeep(_ keep: Duration) { self.keep.withLock { $0 = keep } }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            repeat {
                await self.recordHeads()
                await self.removeExpired()
            } while (try? await Task.sleep(for: Self.period)) != nil
        }
    }

    /// Records the heads that have changed.
    func recordHeads() async {
        do throws(LedgerUnavailable) {
            for head in try await copy.otherHeads() where recorded.withLock({ $0[head.node] != head }) {
                // One that was dropped is recorded a minute later.
                if journal.append(head) { recorded.withLock { $0[head.node] = head } }
            }
        } catch {
            logger.error("Journals of other nodes cannot be read", metadata: ["detail": "\(error.detail)"])
        }
    }

    private func removeExpired() async {
        do throws(LedgerUnavailable) {
            try await copy.removeExpired(keep: keep.withLock { $0 }, now: clocks.wall())
        } catch {
            logger.error(
                "Expired journal lines cannot be removed from the database", metadata: ["detail": "\(error.detail)"])
        }
    }
}
