internal import GatewayCore
public import GatewaySupport

/// The checkpoints kept outside the journal, which the journal must match.
public struct CheckpointCopies: Sendable {
    /// The place outside the journal that knows a line, as findings name it.
    enum Location: String, Sendable {
        case copy = "the checkpoint copy"
        case ledger = "the ledger"
        case store = "the store"

        /// The kind of what the place has of the line.
        var item: String { self == .store ? "copy" : "checkpoint" }
    }

    /// The number and hash of each line that a valid checkpoint signs.
    private(set) var heads: [(number: UInt64, hash: [UInt8], location: Location)] = []
    /// The number of lines that start like a journal line but are not checkpoints signed by one of the keys. Other
    /// lines of a system log are not counted.
    public private(set) var unreadable = 0

    init() {}

    /// Reads the checkpoints in the file, one a line. Text before `{"seq":` is ignored, so that a file of the system
    /// log can be used. Blocks.
    public init(file: String, keys: [Ed25519.PublicKey]) throws(JournalVerification.Failure) {
        let bytes: [UInt8]
        do throws(FileFailure) {
            let reader = try SegmentReader(file)
            defer { reader.close() }
            bytes = try reader.read(last: .max)
        } catch {
            throw JournalVerification.Failure(description: error.description)
        }
        self.init(bytes, keys: keys)
    }

    init(_ bytes: [UInt8], keys: [Ed25519.PublicKey]) {
        let beginning = Array(#"{"seq":"#.utf8)
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            guard let start = line.firstOccurrence(of: beginning) else { continue }
            guard let signed = JournalLineReader(bytes: line[start...]).statement,
                signed.statement.kind == .checkpoint, signed.isValid(under: keys)
            else {
                unreadable += 1
                continue
            }
            heads.append((signed.statement.through, signed.statement.head, .copy))
        }
        heads.sort { $0.number < $1.number }
    }

    /// The number of checkpoints read from the file.
    public var count: Int { heads.count { $0.location == .copy } }

    /// Adds the checkpoint stored in the ledger.
    mutating func add(_ checkpoint: StoredCheckpoint) {
        heads.append((checkpoint.number, checkpoint.hash.hexDigits, .ledger))
        heads.sort { $0.number < $1.number }
    }

    /// Adds the last line of the journal's copy in the shared store.
    mutating func add(_ end: CopyHead) {
        heads.append((end.number, end.hash.hexDigits, .store))
        heads.sort { $0.number < $1.number }
    }
}
