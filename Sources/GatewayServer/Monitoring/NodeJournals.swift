internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport
internal import Logging
internal import ServiceLifecycle
internal import Synchronization

/// The service that records the ends of the other nodes' journals in this node's journal every minute, and removes old
/// lines from the store.
final class NodeJournals: Service {
    /// The journal of this node, as far as the service uses it.
    struct Journal: Sendable {
        let file: JournalFile
        let directory: String
    }

    private let copy: JournalCopy
    private let journal: Journal
    private let clocks: Clocks
    private let logger: Logger
    private let keep: Mutex<Duration>
    /// The heads that were recorded last, by the node.
    private let recorded = Mutex<[String: NodeHead]>([:])

    private static let period = Duration.seconds(60)

    /// Creates the service.
    ///
    /// - Parameter keep: How long the journal keeps its lines.
    init(_ copy: JournalCopy, _ journal: Journal, keep: Duration, clocks: Clocks, logger: Logger) {
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
                await self.removeOld()
            } while (try? await Task.sleep(for: Self.period)) != nil
        }
    }

    /// Records the heads that have changed.
    func recordHeads() async {
        do throws(LedgerUnavailable) {
            for head in try await copy.otherHeads() where recorded.withLock({ $0[head.node] != head }) {
                journal.file.append(head)
                recorded.withLock { $0[head.node] = head }
            }
        } catch {
            logger.error("Journals of other nodes cannot be read", metadata: ["detail": "\(error.detail)"])
        }
    }

    private func removeOld() async {
        do throws(LedgerUnavailable) {
            try await copy.removeOld(
                journal: journal.directory, keep: keep.withLock { $0 }, now: clocks.wall())
        } catch {
            logger.error("Old journal lines cannot be removed from the store", metadata: ["detail": "\(error.detail)"])
        }
    }
}
