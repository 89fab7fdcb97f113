public import GatewayCore

/// The checkpoints of the second place: what the journal must still say.
public struct CheckpointCopies: Sendable {
    /// Where a checkpoint was kept, in words.
    enum Place: String, Sendable {
        case copy = "the second place"
        case ledger = "the ledger"
    }

    /// The hash of a line by its number, for lines that a good checkpoint is about.
    private(set) var heads: [(number: UInt64, hash: [UInt8], place: Place)] = []
    /// How many lines are no checkpoints that one of the keys signed. A foreign line in a system's log is none of them.
    public private(set) var unreadable = 0

    init() {}

    /// The checkpoints in the file: one a line, from the first `{"seq":` on, so that a system's log serves as it is. Blocks.
    public init(file: String, keys: [Ed25519.PublicKey]) throws(JournalVerification.Failure) {
        let bytes: [UInt8]
        do throws(FileFailure) {
            bytes = try SystemFileSystem().read(file)
        } catch {
            throw JournalVerification.Failure(description: error.description)
        }
        self.init(bytes, keys: keys)
    }

    init(_ bytes: [UInt8], keys: [Ed25519.PublicKey]) {
        let beginning = Array(#"{"seq":"#.utf8)
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            guard let start = line.firstPlace(of: beginning) else { continue }
            guard let signed = JournalLineReader(bytes: line[start...]).statement,
                signed.statement.kind == .checkpoint, signed.isGood(under: keys)
            else {
                unreadable += 1
                continue
            }
            heads.append((signed.statement.through, signed.statement.head, .copy))
        }
        heads.sort { $0.number < $1.number }
    }

    /// How many there are.
    public var count: Int { heads.count { $0.place == .copy } }

    /// Adds the checkpoint that the ledger has.
    mutating func add(_ checkpoint: KnownCheckpoint) {
        heads.append((checkpoint.number, checkpoint.hash.hexDigits, .ledger))
        heads.sort { $0.number < $1.number }
    }
}
