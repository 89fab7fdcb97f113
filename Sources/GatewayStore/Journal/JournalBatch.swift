internal import GatewayCore

/// The lines of one write, each at its place in the chain, with checkpoints where they are due. Nothing of it counts until it
/// is on disk.
struct JournalBatch {
    /// Where the journal stands after the batch.
    var chain: JournalChain
    /// What of it is signed after the batch.
    var signer: JournalSigner?
    /// The lines.
    var bytes: [UInt8] { line.bytes }
    /// The lines of it that are checkpoints.
    private(set) var checkpoints: [[UInt8]] = []
    private var line = JournalLine()
    private var time = ""
    /// When it was begun.
    private(set) var now = MonotonicInstant(nanoseconds: 0)

    init(chain: JournalChain, signer: JournalSigner?) {
        self.chain = chain
        self.signer = signer
    }

    /// Begins an empty batch; all its lines are of this moment.
    mutating func open(clocks: Clocks) {
        line.bytes.removeAll(keepingCapacity: true)
        checkpoints.removeAll()
        time = clocks.wall().description
        now = clocks.monotonic()
    }

    /// Appends a line, and before it a checkpoint where too many lines would go without.
    mutating func append(_ entry: JournalEntry, mayWaitForCheckpoint: Bool = false) throws(JournalUnavailable) {
        if signer?.isFull == true, !mayWaitForCheckpoint { try sign() }
        try write(entry)
        signer?.append(now: now)
    }

    /// Appends a checkpoint of all that is before it, where anything is signed at all.
    mutating func sign() throws(JournalUnavailable) {
        guard let signer else { return }
        guard let statement = signer.statement(.checkpoint, at: chain, time: time) else {
            throw JournalUnavailable("libcrypto signed nothing")
        }
        let start = line.bytes.count
        try write(.signed(statement))
        checkpoints.append(Array(line.bytes[start...]))
        self.signer?.sign()
    }

    /// Appends the statement that everything up to a line is about to be removed.
    mutating func retire(_ end: SegmentEnd) throws(JournalUnavailable) {
        guard let signed = signer?.statement(.retired, through: end.number, head: end.hash, time: time) else {
            throw JournalUnavailable("libcrypto signed nothing")
        }
        try append(.signed(signed))
    }

    private mutating func write(_ entry: JournalEntry) throws(JournalUnavailable) {
        guard chain.append(entry, at: time, to: &line) else { throw JournalUnavailable("libcrypto made no hash") }
    }
}
