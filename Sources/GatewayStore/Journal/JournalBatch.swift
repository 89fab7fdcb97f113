internal import GatewayCore

/// The lines of one write, each at its place in the chain, with checkpoints where they are due. Nothing of it counts until it
/// is on disk.
struct JournalBatch {
    /// Where the journal stands after the batch.
    var chain: JournalChain
    /// What of it is signed after the batch.
    var signer: JournalSigner?
    /// The lines.
    private(set) var bytes: [UInt8] = []
    /// The lines of it that are checkpoints.
    private(set) var checkpoints: [[UInt8]] = []
    private var time = ""
    private var timeBytes: [UInt8] = []
    /// When it was begun.
    private(set) var now = MonotonicInstant(nanoseconds: 0)

    init(chain: JournalChain, signer: JournalSigner?) {
        self.chain = chain
        self.signer = signer
    }

    /// Begins an empty batch; all its lines are of this moment.
    mutating func open(clocks: Clocks) {
        bytes.removeAll(keepingCapacity: true)
        checkpoints.removeAll()
        time = clocks.wall().description
        timeBytes = Array(time.utf8)
        now = clocks.monotonic()
    }

    /// Appends the entry's lines, and before one a checkpoint where too many lines would go without.
    mutating func append(_ entry: JournalEntry, mayWaitForCheckpoint: Bool = false) throws(JournalUnavailable) {
        var start = 0
        while let end = entry.end(from: start) {
            if signer?.isFull == true, !mayWaitForCheckpoint { try sign() }
            try write(entry.members[start..<end])
            signer?.append(now: now)
            start = end + 1
        }
    }

    /// Appends a checkpoint of all that is before it, where anything is signed at all.
    mutating func sign() throws(JournalUnavailable) {
        guard let signer else { return }
        guard let statement = signer.statement(.checkpoint, at: chain, time: time) else {
            throw JournalUnavailable("libcrypto signed nothing")
        }
        let start = bytes.count
        try write(JournalEntry.signed(statement).members.dropLast())
        checkpoints.append(Array(bytes[start...]))
        self.signer?.sign()
    }

    /// Appends the statement that everything up to a line is about to be removed.
    mutating func retire(_ end: SegmentEnd) throws(JournalUnavailable) {
        guard let signed = signer?.statement(.retired, through: end.number, head: end.hash.hexDigits, time: time) else {
            throw JournalUnavailable("libcrypto signed nothing")
        }
        try append(.signed(signed))
    }

    private mutating func write(_ members: ArraySlice<UInt8>) throws(JournalUnavailable) {
        guard chain.append(members, at: timeBytes, to: &bytes) else {
            throw JournalUnavailable("libcrypto made no hash")
        }
    }
}
