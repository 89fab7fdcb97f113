public import GatewayCore

/// The last checkpoint of the journal that is kept outside the journal: the number, hash and time of its line.
public struct KnownCheckpoint: Sendable, Hashable {
    /// The number of the checkpoint's line.
    public let number: UInt64
    /// The hash of that line.
    public let hash: SHA256.Digest
    /// When it was written.
    public let time: WallTime

    /// A checkpoint from its parts.
    public init(number: UInt64, hash: SHA256.Digest, time: WallTime) {
        self.number = number
        self.hash = hash
        self.time = time
    }

    /// The checkpoint in a line of the journal; nil where it is none, or does not carry its own hash.
    init?(line: [UInt8]) {
        let reader = JournalLineReader(bytes: line[...].last == UInt8(ascii: "\n") ? line.dropLast() : line[...])
        guard reader.kind == .checkpoint, let number = reader.sequence, let hash = reader.verifiedHash,
            let time = reader.time
        else { return nil }
        self.init(number: number, hash: hash, time: time)
    }
}

/// Keeps the last checkpoint in the ledger. Used on one thread; blocks for as long as the ledger does.
struct CheckpointLedger: CheckpointSink {
    let ledger: SQLiteLedger

    var needsLastOnly: Bool { true }
    /// A busy journal makes many checkpoints a second, and each would be a commit.
    var pause: Duration { .seconds(1) }

    func take(_ line: [UInt8]) throws(FileFailure) {
        guard let checkpoint = KnownCheckpoint(line: line) else { return }
        do throws(LedgerUnavailable) {
            try ledger.keep(checkpoint)
        } catch {
            throw FileFailure(unfit: "the ledger", "takes no checkpoint: \(error.detail)")
        }
    }
}
