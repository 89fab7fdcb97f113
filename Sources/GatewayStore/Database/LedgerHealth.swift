internal import GatewayCore
internal import Synchronization

/// The known state of the ledger: detected damage, and the result of the last write.
///
/// Safe to use from any thread.
final class LedgerHealth: Sendable {
    private struct State {
        /// The damage of the database. Stays set until the ledger is opened again.
        var damage: String?
        /// The error of the last write; nil after a successful one.
        var failure: String?
        var lastCommit: ContinuousClock.Instant?
        /// The start of the test write that is running.
        var testing: ContinuousClock.Instant?
        /// The number of commits since the ledger was opened, without test writes.
        var commits: UInt64 = 0
    }

    private let state = Mutex(State())
    private let database: any SQLDatabase
    private let proofLifetime: Duration

    /// The duration of a test write after which the ledger counts as unusable.
    static let testWriteTimeout = Duration.seconds(5)

    /// Creates the state of a ledger that was just opened in the database.
    ///
    /// - Parameter proofLifetime: How long a commit proves that the ledger can be written.
    init(_ database: any SQLDatabase, proofLifetime: Duration) {
        self.database = database
        self.proofLifetime = proofLifetime
    }

    /// The reason why the ledger cannot be used; nil if no problem is known.
    var fault: String? {
        state.withLock { state in
            if let damage = state.damage { return "damaged: \(damage)" }
            if let failure = state.failure { return "cannot be written: \(failure)" }
            guard let since = state.testing, .now - since > Self.testWriteTimeout else { return nil }
            return "cannot be written: a write is unfinished after \((.now - since).components.seconds) s"
        }
    }

    /// Whether a commit succeeded within the proof lifetime and none failed since.
    var isProvenWritable: Bool {
        state.withLock { state in
            state.failure == nil && state.lastCommit.map { .now - $0 < proofLifetime } ?? false
        }
    }

    /// Records that changes are on disk.
    ///
    /// - Parameter isTest: Whether they are only test writes.
    func committed(isTest: Bool) {
        state.withLock { state in
            state.failure = nil
            state.lastCommit = .now
            if !isTest { state.commits += 1 }
        }
    }

    /// The number of commits since the ledger was opened, without test writes.
    var commits: UInt64 { state.withLock(\.commits) }

    /// Records the start of a test write. Returns false if another one is running.
    func beginTest() -> Bool {
        state.withLock { state in
            guard state.testing == nil else { return false }
            state.testing = .now
            return true
        }
    }

    /// Records that the test write finished.
    func finishTest() { state.withLock { $0.testing = nil } }

    /// Records the damage that a check of the database found.
    func recordDamage(_ damage: String) { state.withLock { $0.damage = $0.damage ?? damage } }

    /// Records the damage if the error of a read reports a damaged database. Ignores other errors.
    func recordReadFailure(_ error: any Error) {
        if let damage = database.damage(in: error) { recordDamage(damage) }
    }

    /// Records an error of a write, and the damage if the error reports a damaged database. Ignores errors that concern
    /// only one change, such as constraint violations.
    func recordWriteFailure(_ error: any Error) {
        recordReadFailure(error)
        guard database.isFailure(error) else { return }
        let message = database.message(for: error)
        state.withLock { state in
            state.failure = message
            state.lastCommit = nil
        }
    }
}
