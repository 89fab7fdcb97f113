internal import GatewayCore
internal import GatewaySupport

/// The lines of one write with their numbers and hashes, and with the checkpoints that are due. The writer adopts
/// ``chain`` and ``signer`` once the lines are on disk.
struct JournalBatch {
    /// The end of the chain after the batch.
    var chain: JournalChain
    /// The state of signing after the batch; nil if nothing is signed.
    var signer: JournalSigner?
    /// The lines.
    private(set) var bytes: [UInt8] = []
    /// The checkpoints among the lines.
    private(set) var checkpoints: [[UInt8]] = []
    private var time = ""
    private var timeBytes: [UInt8] = []
    /// The monotonic time at which the batch was started.
    private(set) var now = MonotonicInstant(nanoseconds: 0)

    init(chain: JournalChain, signer: JournalSigner?) {
        self.chain = chain
        self.signer = signer
    }

    /// Removes all lines and reads the clocks. All further lines get this time.
    mutating func open(clocks: Clocks) {
        bytes.removeAll(keepingCapacity: true)
        checkpoints.removeAll()
        time = clocks.wall().description
        timeBytes = Array(time.utf8)
        now = clocks.monotonic()
    }

    /// Appends the entry's lines. Inserts a checkpoint before a line if ``JournalSigner/maximumUnsignedLines`` lines
    /// have none.
    ///
    /// - Parameter mayWaitForCheckpoint: Whether that checkpoint is left to a later call, because the entry must be the
    ///   first line of a segment.
    mutating func append(_ entry: JournalEntry, mayWaitForCheckpoint: Bool = false) throws(JournalUnavailable) {
        var start = 0
        while let end = entry.endOfMembers(from: start) {
            if signer?.mustSignBeforeNextLine == true, !mayWaitForCheckpoint { try sign() }
            try write(entry.members[start..<end])
            signer?.didAppendLine(now: now)
            start = end + 1
        }
    }

    /// Appends a checkpoint of all lines so far, unless the journal is not signed.
    mutating func sign() throws(JournalUnavailable) {
        guard let signer else { return }
        guard let statement = signer.signedStatement(.checkpoint, at: chain, time: time) else {
            throw JournalUnavailable("libcrypto cannot sign")
        }
        let start = bytes.count
        try write(JournalEntry.signed(statement).members.dropLast())
        checkpoints.append(Array(bytes[start...]))
        self.signer?.didSign()
    }

    /// Appends the signed line that announces the removal of all lines up to `end`.
    mutating func appendRemoval(through end: SegmentTail) throws(JournalUnavailable) {
        guard let signed = signer?.signedStatement(.retired, through: end.number, head: end.hash.hexDigits, time: time)
        else {
            throw JournalUnavailable("libcrypto cannot sign")
        }
        try append(.signed(signed))
    }

    private mutating func write(_ members: ArraySlice<UInt8>) throws(JournalUnavailable) {
        guard chain.append(members, at: timeBytes, to: &bytes) else {
            throw JournalUnavailable("line \(chain.next) cannot be chained: no number is left, or libcrypto fails")
        }
    }
}
