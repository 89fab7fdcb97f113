internal import GatewayCore

/// What one line of the journal says, before it has its place in the chain.
enum JournalEntry: Sendable {
    /// What a caller wants recorded. Large, and passed on from hand to hand.
    indirect case record(JournalRecord)
    /// The journal was opened.
    case start
    /// The journal mended itself: how, and how much of it.
    case recovered(Mending, count: Int)
    /// The outcome of an intent that a crash left without one; `members` are the intent's own, as they stand in its line.
    case unknownAfterCrash(members: [UInt8])
    /// A statement about the chain, signed.
    case signed(SignedStatement)

    /// The ways in which the journal mends itself: the `result` of `recovered` records.
    enum Mending: String, Sendable {
        /// Bytes after the last complete line were cut off and kept in a file; counted in bytes.
        case tornTail = "torn-tail"
        /// A segment could not be written and the journal went on in a new one; counted in the records that waited and were refused.
        case writeFailed = "write-failed"
        /// More was noted than there was room for; counted in records that are missing.
        case notesDropped = "notes-dropped"
    }

    /// The version of the lines' format, in `start` records.
    static let format = 1

    /// Appends the members between `at` and `prev`, each with the comma before it.
    func write(to line: inout JournalLine) {
        switch self {
        case .record(let record):
            line.member("kind", word: record.kind.rawValue)
            if let facts = record.facts { line.members(of: facts) }
            line.member("result", text: record.result)
            line.member("status", number: record.status)
            line.member("ms", number: record.milliseconds)
            line.member("count", number: record.count)
            line.member("operator", number: record.operatorID.map(Int.init))
            line.member("target", text: record.target)
            if record.kind == .start { line.member("format", number: Self.format) }
        case .start:
            line.member("kind", word: JournalRecord.Kind.start.rawValue)
            line.member("format", number: Self.format)
        case .recovered(let mending, let count):
            line.member("kind", word: JournalRecord.Kind.recovered.rawValue)
            line.member("result", word: mending.rawValue)
            line.member("count", number: count)
        case .unknownAfterCrash(let members):
            line.member("kind", word: JournalRecord.Kind.outcome.rawValue)
            line.bytes += members
            line.member("result", word: CallResult.unknownAfterCrash.rawValue)
        case .signed(let signed):
            line.member("kind", word: signed.statement.kind.rawValue)
            // In these lines too: in a segment that holds no `start` they say what can be read.
            line.member("format", number: Self.format)
            line.members(of: signed)
        }
    }
}
