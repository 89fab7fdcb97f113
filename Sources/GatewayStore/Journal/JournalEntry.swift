internal import GatewayCore
internal import Glibc

/// What lines of the journal say before they have their places in the chain: the members between `at` and `prev`.
///
/// Records are written as bytes where they come from, on the thread whose cache holds the call. What crosses to the journal's thread
/// is one piece of memory, and none of the objects that a call is made of.
struct JournalEntry: Sendable {
    /// The members of each line, each with the comma before it. A line feed, which no member holds, ends each line's.
    let members: [UInt8]
    /// How many lines they are.
    let lines: Int

    /// The ways in which the journal mends itself: the `result` of `recovered` records.
    enum Mending: String, Sendable, CaseIterable {
        /// Bytes after the last complete line were cut off and kept in a file; counted in bytes.
        case tornTail = "torn-tail"
        /// A segment could not be written and the journal went on in a new one; counted in the records that waited and were refused.
        case writeFailed = "write-failed"
        /// More was noted than there was room for; counted in records that are missing.
        case notesDropped = "notes-dropped"
        /// Lines that were on disk are gone: a segment was deleted, replaced or cut. `first` and `through` are their numbers.
        case linesMissing = "lines-missing"
        /// The line that the ledger knows the last checkpoint by is another one or absent; `through` is its number.
        case checkpointMismatch = "checkpoint-mismatch"
    }

    /// The version of the lines' format, in `start` records.
    static let format = 1

    /// Longer ones are written twice.
    private static let usualBytes = 512

    /// - Parameter write: writes the members of each line, and a line feed after them.
    private init(lines: Int = 1, _ write: (inout JournalLine) -> Void) {
        self.lines = lines
        members = [UInt8](expecting: lines * Self.usualBytes) { bytes in
            var line = JournalLine(bytes: bytes)
            write(&line)
            bytes = line.bytes
        }
    }

    /// What a caller wants recorded.
    init(_ record: JournalRecord) {
        self.init {
            $0.members(of: record)
            $0.end()
        }
    }

    /// What a caller wants recorded together.
    ///
    /// - Parameter note: is told the kind of each.
    init(_ records: [JournalRecord], note: (JournalRecord.Kind) -> Void) {
        self.init(lines: records.count) { line in
            // By its place: nothing of a record is copied to be read.
            records.withUnsafeBufferPointer { records in
                for place in records.indices {
                    line.members(of: records[place])
                    line.end()
                }
            }
        }
        // Apart from the above, which is run twice where the lines are long.
        for place in records.indices { note(records[place].kind) }
    }

    /// The journal was opened.
    static let start = JournalEntry {
        $0.member(#","kind":"#, word: JournalRecord.Kind.start.rawValue)
        $0.member(#","format":"#, number: format)
        $0.end()
    }

    /// The journal mended itself: how, and how much of it.
    static func recovered(_ mending: Mending, count: Int) -> JournalEntry {
        JournalEntry {
            $0.member(#","kind":"#, word: JournalRecord.Kind.recovered.rawValue)
            $0.member(#","result":"#, word: mending.rawValue)
            $0.member(#","count":"#, number: count)
            $0.end()
        }
    }

    /// Lines that were recorded are missing from now on.
    static func linesMissing(_ lines: ClosedRange<UInt64>) -> JournalEntry {
        JournalEntry {
            $0.member(#","kind":"#, word: JournalRecord.Kind.recovered.rawValue)
            $0.member(#","result":"#, word: Mending.linesMissing.rawValue)
            $0.member(
                #","count":"#,
                number: Int(clamping: lines.upperBound - lines.lowerBound).addingReportingOverflow(1).partialValue)
            $0.member(#","first":"#, number: Int(clamping: lines.lowerBound))
            $0.member(#","through":"#, number: Int(clamping: lines.upperBound))
            $0.end()
        }
    }

    /// The journal does not hold the line that the ledger knows.
    static func checkpointMismatch(_ number: UInt64) -> JournalEntry {
        JournalEntry {
            $0.member(#","kind":"#, word: JournalRecord.Kind.recovered.rawValue)
            $0.member(#","result":"#, word: Mending.checkpointMismatch.rawValue)
            $0.member(#","through":"#, number: Int(clamping: number))
            $0.end()
        }
    }

    /// The outcome of an intent that a crash left without one; `members` are the intent's own, as they stand in its line.
    static func unknownAfterCrash(members: [UInt8]) -> JournalEntry {
        JournalEntry {
            $0.member(#","kind":"#, word: JournalRecord.Kind.outcome.rawValue)
            $0.bytes.append(members)
            $0.member(#","result":"#, word: CallResult.unknownAfterCrash.rawValue)
            $0.end()
        }
    }

    /// A statement about the chain, signed.
    static func signed(_ signed: SignedStatement) -> JournalEntry {
        JournalEntry {
            $0.member(#","kind":"#, word: signed.statement.kind.rawValue)
            // In these lines too: in a segment that holds no `start` they say what can be read.
            $0.member(#","format":"#, number: format)
            $0.members(of: signed)
            $0.end()
        }
    }

    /// Where the line's members end that begin at a place; nil behind the last line's.
    func end(from start: Int) -> Int? {
        guard start < members.count else { return nil }
        return members.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            return memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start).map {
                UnsafeRawPointer($0) - base
            }
        }
    }
}
