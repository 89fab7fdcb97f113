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
    private(set) var expected: UInt64 = 0
    /// The hash that it must name.
    private var previous: [UInt8] = []
    /// What the first line that is there names, where it is not the first of all.
    private var beginning: [UInt8]?
    private var isBeginningVouchedFor = true
    /// The number up to which good signed lines say that retention removed everything.
    private var retiredThrough: UInt64 = 0
    private var losses = RecordedLosses()
    /// A finding within a segment, while a later line may still say that the rest of the segment is missing.
    private var suspended: JournalVerification.Report?
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
        if segment.first > expected { skip(to: segment, bytes) }
        var lastGood: Range<Int>?
        defer {
            report.segments += 1
            let time = lastGood.flatMap { JournalLineReader(bytes: bytes[$0]).time }
            report.lastTime = time ?? report.lastTime
        }
        guard segment.first == expected else {
            find(Finding(segment.first, "the segment that begins with it is there twice or out of order"))
            return
        }
        defer { suspend(before: next) }
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
        report = losses.completed(report)
        if report.finding == nil, report.first > 1 { checkBeginning() }
        if report.finding == nil, nextCopy < copies.heads.count {
            let last = copies.heads[copies.heads.count - 1].number
            find(
                Finding(
                    max(1, expected), through: last,
                    "lines are missing at the end: \(copies.heads[copies.heads.count - 1].place.rawValue) has a "
                        + "checkpoint of line \(last)"))
        }
        return report
    }

    /// Says what became of the lines before the first one that is there: retention removed them, or they are lost.
    private mutating func checkBeginning() {
        report.retiredThrough = isBeginningVouchedFor ? report.first - 1 : retiredThrough
        guard report.retiredThrough < report.first - 1 else { return }
        let missing = (report.retiredThrough + 1)...(report.first - 1)
        if let found = losses.losses(ofBeginning: missing) {
            report.losses.insert(contentsOf: found, at: 0)
        } else {
            find(
                Finding(
                    report.retiredThrough + 1, through: report.first - 1,
                    "lines are missing at the beginning, and no signed line says that they were removed"))
        }
    }

    // MARK: Gaps

    /// Goes on with a segment behind a gap. The gap is the finding, unless a later line of the gateway records it.
    private mutating func skip(to segment: JournalSegmentName, _ bytes: [UInt8]) {
        var found = suspended ?? report
        if found.finding == nil {
            found.finding = Finding(
                expected, through: segment.first - 1,
                "lines are missing: the segment that begins with line \(segment.first) follows")
        }
        suspended = nil
        let first = min(expected, found.finding?.number ?? expected)
        losses.add(.init(lines: first...(segment.first - 1), report: found))
        expected = segment.first
        run = 0
        if let end = Self.endOfLine(in: bytes, from: 0),
            let named = JournalLineReader(bytes: bytes[0..<end]).previous
        {
            previous = named
        }
        while nextCopy < copies.heads.count, copies.heads[nextCopy].number < segment.first { nextCopy += 1 }
    }

    /// Puts a finding aside where another segment follows: the gateway may have recorded there that the rest of this one is
    /// missing.
    private mutating func suspend(before next: JournalSegmentName?) {
        guard report.finding != nil, let next, expected < next.first else { return }
        suspended = report
        report.finding = nil
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
            let causes = [JournalEntry.Mending.writeFailed, .linesMissing].map(\.rawValue)
            guard reader.kind == .recovered, reader.text("result").map(causes.contains) == true else {
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
        if line.mayBeRecovered {
            let reader = JournalLineReader(bytes: bytes[range])
            if reader.kind == .recovered { losses.take(reader, number: report.last) }
        }
        if report.finding == nil { compareWithCopy(hash) }
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
            if statement.through < report.first { retiredThrough = max(retiredThrough, statement.through) }
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
                        "lines were changed and hashed anew: \(copies.heads[nextCopy].place.rawValue) has another "
                            + "checkpoint of line \(report.last)"
                    ))
            }
            if copies.heads[nextCopy].place == .copy { report.copiesSeen += 1 }
            nextCopy += 1
        }
    }

    private mutating func find(_ finding: Finding) {
        if report.finding == nil { report.finding = finding }
    }
}
