internal import GatewayCore
internal import GatewaySupport
internal import Glibc

/// One or more journal lines before they are chained: for each line, the members between `at` and `prev`.
///
/// Records are serialized on the caller's thread, where the call is still in the CPU cache. Only one buffer is passed
/// to the journal's thread, and none of the call's objects.
struct JournalEntry: Sendable {
    /// The members of each line, each with a comma before it. A line feed, which no member contains, ends each line.
    let members: [UInt8]
    /// The number of lines.
    let lines: Int

    /// The events that a `recovered` record reports; the raw value is its `result`.
    enum Recovery: String, Sendable, CaseIterable {
        /// Bytes after the last complete line were cut off and kept in a file. The count is in bytes.
        case tornTail = "torn-tail"
        /// Writing to a segment failed, and the journal continued in a new one. The count is the number of waiting
        /// records that were rejected.
        case writeFailed = "write-failed"
        /// The queue was full of notes (records for which no caller waits), and some were dropped. The count is the
        /// number of dropped records.
        case notesDropped = "notes-dropped"
        /// Lines that were on disk are missing: a segment was deleted, replaced or truncated. `first` and `through` are
        /// the lines' numbers.
        case linesMissing = "lines-missing"
        /// The line of the ledger's checkpoint is missing or differs. `through` is its number.
        case checkpointMismatch = "checkpoint-mismatch"
    }

    /// The version of the line format, in `start` records.
    static let format = 1

    /// The initial buffer capacity per line, in bytes. If the lines do not fit, they are serialized again into a larger
    /// buffer.
    private static let initialBytesPerLine = 512

    /// Creates an entry.
    ///
    /// - Parameter write: Writes the members of each line, and a line feed after them. May run twice.
    private init(lines: Int = 1, _ write: (inout JournalLineWriter) -> Void) {
        self.lines = lines
        members = [UInt8](expecting: lines * Self.initialBytesPerLine) { bytes in
            var line = JournalLineWriter(bytes: bytes)
            write(&line)
            bytes = line.bytes
        }
    }

    /// Creates the entry of one record.
    init(_ record: JournalRecord) {
        self.init {
            $0.members(of: record)
            $0.endLine()
        }
    }

    /// Creates one entry of several records, which are written together.
    ///
    /// - Parameter note: Called once with the kind of each record.
    init(_ records: [JournalRecord], note: (JournalRecord.Kind) -> Void) {
        self.init(lines: records.count) { line in
            // Access by index avoids copying the records.
            records.withUnsafeBufferPointer { records in
                for index in records.indices {
                    line.members(of: records[index])
                    line.endLine()
                }
            }
        }
        // Not in the closure above, which runs twice if the lines are long.
        for index in records.indices { note(records[index].kind) }
    }

    /// The entry that states that the journal was opened.
    static let start = JournalEntry {
        $0.member(#","kind":"#, word: JournalRecord.Kind.start.rawValue)
        $0.member(#","format":"#, number: format)
        $0.endLine()
    }

    /// Returns the `recovered` record. Not for `linesMissing` and `checkpointMismatch`, which have their own functions.
    static func recovered(_ recovery: Recovery, count: Int) -> JournalEntry {
        JournalEntry {
            $0.member(#","kind":"#, word: JournalRecord.Kind.recovered.rawValue)
            $0.member(#","result":"#, word: recovery.rawValue)
            $0.member(#","count":"#, number: count)
            $0.endLine()
        }
    }

    /// Returns the entry that reports missing lines, by their numbers.
    static func linesMissing(_ lines: ClosedRange<UInt64>) -> JournalEntry {
        JournalEntry {
            $0.member(#","kind":"#, word: JournalRecord.Kind.recovered.rawValue)
            $0.member(#","result":"#, word: Recovery.linesMissing.rawValue)
            $0.member(
                #","count":"#,
                number: Int(clamping: lines.upperBound - lines.lowerBound).addingReportingOverflow(1).partialValue)
            $0.member(#","first":"#, number: Int(clamping: lines.lowerBound))
            $0.member(#","through":"#, number: Int(clamping: lines.upperBound))
            $0.endLine()
        }
    }

    /// Returns the entry that states that the ledger's checkpoint line is missing from the journal or differs.
    static func checkpointMismatch(_ number: UInt64) -> JournalEntry {
        JournalEntry {
            $0.member(#","kind":"#, word: JournalRecord.Kind.recovered.rawValue)
            $0.member(#","result":"#, word: Recovery.checkpointMismatch.rawValue)
            $0.member(#","through":"#, number: Int(clamping: number))
            $0.endLine()
        }
    }

    /// Returns the outcome for an intent that a crash left without one. `members` are the intent's members after
    /// `kind`, as `JournalLineReader.intentMembers` returns them; they must begin with a comma.
    static func unknownAfterCrash(members: [UInt8]) -> JournalEntry {
        JournalEntry {
            $0.member(#","kind":"#, word: JournalRecord.Kind.outcome.rawValue)
            $0.bytes.append(members)
            $0.member(#","result":"#, word: CallResult.unknownAfterCrash.rawValue)
            $0.endLine()
        }
    }

    /// Returns the entry of a signed statement about the chain.
    static func signed(_ signed: SignedStatement) -> JournalEntry {
        JournalEntry {
            $0.member(#","kind":"#, word: signed.statement.kind.rawValue)
            // Repeated here for segments that do not contain a `start` line.
            $0.member(#","format":"#, number: format)
            $0.members(of: signed)
            $0.endLine()
        }
    }

    /// The maximum length of a host's name in bytes.
    private static let maximumHostBytes = 64

    /// Returns the entry that records the head of another gateway's journal.
    static func record(of head: NodeHead) -> JournalEntry {
        JournalEntry {
            $0.member(#","kind":"#, word: JournalRecord.Kind.nodeHead.rawValue)
            $0.member(#","node":"#, text: head.node)
            $0.member(#","host":"#, text: JournalLineWriter.truncated(head.host, to: maximumHostBytes))
            $0.member(#","chain":"#, number: Int(head.chain))
            $0.member(#","through":"#, number: Int(clamping: head.through))
            $0.member(#","head":"#, text: head.hash)
            $0.member(#","key":"#, text: head.keyID)
            $0.endLine()
        }
    }

    /// Returns the index of the line feed that ends the line beginning at `start`; nil if `start` is at the end.
    func endOfMembers(from start: Int) -> Int? {
        guard start < members.count else { return nil }
        return members.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return nil }
            return memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start).map {
                UnsafeRawPointer($0) - base
            }
        }
    }
}
