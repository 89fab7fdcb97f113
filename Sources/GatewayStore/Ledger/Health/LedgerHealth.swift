internal import GRDB
internal import GatewayCore
internal import Synchronization

/// What is known of whether the ledger can be used: damage that was found, and whether the last write succeeded.
///
/// Safe to use from any thread.
final class LedgerHealth: Sendable {
    private struct State {
        /// What is wrong with the file. Stays until the ledger is opened again.
        var damage: String?
        /// Why the last write failed; nil after one that succeeded.
        var failure: String?
        var lastCommit: ContinuousClock.Instant?
        /// Since when a test write waits for the disk.
        var testing: ContinuousClock.Instant?
        /// Commits since the ledger was opened, test writes left out.
        var commits: UInt64 = 0
    }

    private let state = Mutex(State())
    private let proofLifetime: Duration

    /// How long a write may take until the ledger counts as out of order.
    static let longestWrite = Duration.seconds(5)

    /// - Parameter proofLifetime: for how long a commit proves that the ledger can be written.
    init(proofLifetime: Duration) { self.proofLifetime = proofLifetime }

    /// Why the ledger cannot be used at present; nil where nothing is known to be wrong.
    var fault: String? {
        state.withLock { state in
            if let damage = state.damage { return "damaged: \(damage)" }
            if let failure = state.failure { return "cannot be written: \(failure)" }
            guard let since = state.testing, .now - since > Self.longestWrite else { return nil }
            return "cannot be written: a write has not ended for \((.now - since).components.seconds) s"
        }
    }

    /// Whether a commit has succeeded so recently that the next one may be expected to.
    var isProvenWritable: Bool {
        state.withLock { state in
            state.failure == nil && state.lastCommit.map { .now - $0 < proofLifetime } ?? false
        }
    }

    /// Notes that changes are on disk.
    ///
    /// - Parameter isTest: whether they mean nothing.
    func committed(isTest: Bool) {
        state.withLock { state in
            state.failure = nil
            state.lastCommit = .now
            if !isTest { state.commits += 1 }
        }
    }

    /// How many commits changed anything since the ledger was opened.
    var commits: UInt64 { state.withLock(\.commits) }

    /// Notes that a test write begins; false where another has not ended.
    func beginTest() -> Bool {
        state.withLock { state in
            guard state.testing == nil else { return false }
            state.testing = .now
            return true
        }
    }

    /// Notes that the test write has ended.
    func endTest() { state.withLock { $0.testing = nil } }

    /// Notes what a check of the file has found.
    func found(damage: String) { state.withLock { $0.damage = $0.damage ?? damage } }

    /// Notes an error of a read.
    func noteRead(_ error: any Error) {
        if let damage = Self.damage(in: error) { found(damage: damage) }
    }

    /// Notes an error of a write. Errors that are not SQLite's say nothing about the file.
    func noteWrite(_ error: any Error) {
        noteRead(error)
        guard let error = error as? DatabaseError, error.resultCode != .SQLITE_CONSTRAINT else { return }
        state.withLock { state in
            state.failure = DatabaseMessage.of(error)
            state.lastCommit = nil
        }
    }

    /// What SQLite says of a file that it cannot make sense of; nil for any other error.
    static func damage(in error: any Error) -> String? {
        guard let error = error as? DatabaseError,
            error.resultCode == .SQLITE_CORRUPT || error.resultCode == .SQLITE_NOTADB
        else { return nil }
        return DatabaseMessage.of(error)
    }
}
