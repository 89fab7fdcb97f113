internal import GatewayCore
internal import Glibc

/// Follows the chain line by line. A value: fed segment by segment, in order.
struct ChainCheck {
    typealias Finding = JournalVerification.Finding

    private(set) var report = JournalVerification.Report()
    private let keys: [Ed25519.PublicKey]
    private let copies: CheckpointCopies
    private var nextCopy = 0
    /// The number that the next line must have.
    private var expected: UInt64 = 0
    /// The hash that it must name.
    private var previous: [UInt8] = []
    /// What the first line that is there names, where it is not the first of all.
    private var beginning: [UInt8]?
    private var isBeginningVouchedFor = true
    /// Lines since the last good checkpoint.
    private var run = 0

    init(keys: [Ed25519.PublicKey], copies: CheckpointCopies) {
        self.keys = keys
        self.copies = copies
    }

    /// Takes a segment. After a finding nothing more is to be taken.
    mutating func take(
        _ bytes: [UInt8], of segment: JournalSegmentName, before next: JournalSegmentName?, mayEndWithinLine: Bool
    ) {
        if report.first == 0 { begin(with: segment, bytes) }
        var lastGood: Range<Int>?
        defer {
            report.segments += 1
            let time = lastGood.flatMap { JournalLineReader(bytes: bytes[$0]).time }
            report.lastTime = time ?? report.lastTime
        }
        guard segment.first == expected else {
            find(
                segment.first > expected
                    ? Finding(
                        expected, through: segment.first - 1,
                        "lines are missing: the segment that begins with line \(segment.first) follows")
                    : Finding(segment.first, "the segment that begins with it is there twice or out of order"))
            return
        }
        var offset = 0
        let content = JournalContent.endOfLines(in: bytes)
        while report.finding == nil, next.map({ expected < $0.first }) ?? true, offset < content {
            guard let end = Self.endOfLine(in: bytes, from: offset) else { break }
            if end + 1 >= content, !CheckedLine(bytes, offset..<end).isShaped { break }
            takeLine(bytes, offset..<end)
            if report.finding == nil { lastGood = offset..<end }
            offset = end + 1
        }
        // What follows are the line feeds that the segment was filled with.
        guard report.finding == nil, offset < content else { return }
        if let next, expected == next.first {
            // Left by a write that failed: nobody was told that it was recorded, and the next segment says so first of all.
            pendingVoid = Finding(
                expected, "the segment before it goes on beyond its end, and no failed write explains it")
        } else if next != nil || !mayEndWithinLine {
            find(Finding(expected, "the line is not whole"))
        }
    }

    /// Says what only the end can tell.
    mutating func finish() -> JournalVerification.Report {
        if report.finding == nil, let pendingVoid { find(pendingVoid) }
        if report.finding == nil, !isBeginningVouchedFor {
            find(
                Finding(
                    1, through: report.first - 1,
                    "lines are missing at the beginning, and no signed line says that they were removed"))
        }
        if report.finding == nil, nextCopy < copies.heads.count {
            let last = copies.heads[copies.heads.count - 1].number
            find(
                Finding(
                    max(1, expected), through: last,
                    "lines are missing at the end: the second place has a checkpoint of line \(last)"))
        }
        return report
    }

    // MARK: Lines

    /// Set where a segment goes on beyond its end, until the next one's first line explains it.
    private var pendingVoid: Finding?

    private mutating func begin(with segment: JournalSegmentName, _ bytes: [UInt8]) {
        report.first = segment.first
        expected = segment.first
        previous = JournalChain.beginning.previous
        // What the second place says of removed lines cannot be compared any more.
        while nextCopy < copies.heads.count, copies.heads[nextCopy].number < segment.first { nextCopy += 1 }
        guard segment.first > 1, let end = Self.endOfLine(in: bytes, from: 0),
            let named = JournalLineReader(bytes: bytes[0..<end]).previous
        else { return }
        previous = named
        beginning = named
        isBeginningVouchedFor = false
    }

    private mutating func takeLine(_ bytes: [UInt8], _ range: Range<Int>) {
        let line = CheckedLine(bytes, range)
        guard let hash = line.hash else {
            return find(Finding(expected, line.isShaped ? "the line was changed" : "the line is none of the journal's"))
        }
        guard line.number == expected else { return find(misplaced(line)) }
        guard line.names(previous) else { return find(unchained(line, bytes, range)) }
        if let unexplained = pendingVoid {
            let reader = JournalLineReader(bytes: bytes[range])
            guard reader.kind == .recovered, reader.text("result") == JournalEntry.Mending.writeFailed.rawValue else {
                return find(unexplained)
            }
            pendingVoid = nil
        }
        previous = hash
        report.last = expected
        report.lines += 1
        if report.lines == 1 { report.firstTime = JournalLineReader(bytes: bytes[range]).time }
        expected += 1
        run += 1
        if line.mayBeSigned { checkStatement(JournalLineReader(bytes: bytes[range])) } else { checkRun() }
        if report.finding == nil { compareWithCopy(hash) }
    }

    private func misplaced(_ line: CheckedLine) -> Finding {
        guard let number = line.number else { return Finding(expected, "the line has no number") }
        if number > expected {
            return Finding(expected, through: number - 1, "lines are missing: line \(number) follows")
        }
        return Finding(number, "the line is there twice, or out of order")
    }

    /// A whole line of the right number that does not name the one before it. If the next one does name this one, it was the
    /// one before that was changed and hashed anew; else it is this one.
    private func unchained(_ line: CheckedLine, _ bytes: [UInt8], _ range: Range<Int>) -> Finding {
        let isAlone = expected == report.first
        if isAlone { return Finding(expected, "the line does not name the hash that the first line of all names") }
        let what = "the line was changed and hashed anew: the next one names another hash"
        guard let end = Self.endOfLine(in: bytes, from: range.upperBound + 1) else {
            return Finding(expected - 1, through: expected, what)
        }
        let next = CheckedLine(bytes, (range.upperBound + 1)..<end)
        if next.hash != nil, let hash = line.hash, !next.names(hash) { return Finding(expected, what) }
        return Finding(expected - 1, what)
    }

    /// The line feed that ends the line which begins there.
    static func endOfLine(in bytes: [UInt8], from offset: Int) -> Int? {
        guard offset < bytes.count else { return nil }
        return bytes.withUnsafeBytes { buffer in
            guard let base = buffer.baseAddress,
                let found = memchr(base + offset, Int32(UInt8(ascii: "\n")), buffer.count - offset)
            else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }

    // MARK: What is signed

    private mutating func checkStatement(_ line: JournalLineReader) {
        guard let kind = line.kind, kind == .checkpoint || kind == .retired else {
            return checkRun()
        }
        guard !keys.isEmpty else { return }
        let number = expected - 1
        let unsigned = report.signedThrough + 1
        guard let signed = line.statement, signed.isGood(under: keys) else {
            let first = kind == .checkpoint ? max(unsigned, report.first) : number
            return find(
                Finding(first, through: number, "the \(kind.rawValue) in line \(number) is not signed by a known key"))
        }
        let statement = signed.statement
        switch statement.kind {
        case .checkpoint:
            guard statement.through == number - 1, line.previous == statement.head else {
                return find(
                    Finding(
                        max(unsigned, report.first), through: number,
                        "lines were changed and hashed anew: the checkpoint in line \(number) is signed over another hash"
                    ))
            }
            report.checkpoints += 1
            report.signedThrough = statement.through
            run = 0
        case .retired:
            if let beginning, statement.through == report.first - 1, statement.head == beginning {
                isBeginningVouchedFor = true
            }
        }
    }

    private mutating func checkRun() {
        guard !keys.isEmpty, run > JournalSigner.longestRun + 1 else { return }
        let first = max(report.signedThrough + 1, report.first)
        find(Finding(first, through: expected - 1, "more than \(JournalSigner.longestRun) lines without a checkpoint"))
    }

    private mutating func compareWithCopy(_ hash: [UInt8]) {
        while nextCopy < copies.heads.count, copies.heads[nextCopy].number == report.last {
            guard copies.heads[nextCopy].hash == hash else {
                let first = nextCopy > 0 ? copies.heads[nextCopy - 1].number + 1 : report.first
                return find(
                    Finding(
                        max(first, report.first), through: report.last,
                        "lines were changed and hashed anew: the second place has another checkpoint of line \(report.last)"
                    ))
            }
            report.copiesSeen += 1
            nextCopy += 1
        }
    }

    private mutating func find(_ finding: Finding) {
        if report.finding == nil { report.finding = finding }
    }
}
