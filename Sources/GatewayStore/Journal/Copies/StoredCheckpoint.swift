public import GatewayCore
public import GatewaySupport

/// The journal's last checkpoint as the ledger stores it: the number, the hash and the time of its line.
public struct StoredCheckpoint: Sendable, Hashable {
    /// The number of the checkpoint's line.
    public let number: UInt64
    /// The hash of that line.
    public let hash: SHA256.Digest
    /// The time of that line.
    public let time: WallTime

    /// Creates a checkpoint from its parts.
    public init(number: UInt64, hash: SHA256.Digest, time: WallTime) {
        self.number = number
        self.hash = hash
        self.time = time
    }

    /// Parses a line of the journal; nil if the line is not a checkpoint or its hash is wrong.
    init?(line: [UInt8]) {
        let reader = JournalLineReader(bytes: line[...].last == UInt8(ascii: "\n") ? line.dropLast() : line[...])
        guard reader.kind == .checkpoint, let number = reader.sequence, let hash = reader.verifiedHash,
            let time = reader.time
        else { return nil }
        self.init(number: number, hash: hash, time: time)
    }
}

/// Stores the journal's last checkpoint outside the journal, in the ledger. Comparing the two shows whether the journal
/// was replaced or deleted.
public protocol JournalCheckpointStore: Sendable {
    /// Returns the journal's last checkpoint; nil if none is stored. Blocks.
    func journalCheckpoint() throws(LedgerUnavailable) -> StoredCheckpoint?
    /// Stores the checkpoint and replaces the previous one. Blocks; must not be called on an event loop.
    func store(_ checkpoint: StoredCheckpoint) throws(LedgerUnavailable)
}

/// Stores the last checkpoint in the ledger. Confined to one thread; blocks while the ledger is busy.
struct LedgerCheckpointSink: CheckpointSink {
    let ledger: any JournalCheckpointStore

    var needsLastOnly: Bool { true }
    /// A busy journal writes many checkpoints a second, and storing each one would cost a commit. The pause lets one
    /// commit cover many.
    var pause: Duration { .seconds(1) }

    func store(_ line: [UInt8]) throws(FileFailure) {
        guard let checkpoint = StoredCheckpoint(line: line) else { return }
        do throws(LedgerUnavailable) {
            try ledger.store(checkpoint)
        } catch {
            throw FileFailure(unfit: "the ledger", "cannot store the checkpoint: \(error.detail)")
        }
    }
}
