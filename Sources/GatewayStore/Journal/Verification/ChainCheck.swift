internal import GatewayCore
internal import GatewaySupport
internal import Glibc

/// Checks the hash chain line by line. The caller passes the segments in order.
struct ChainCheck {
    typealias Finding = JournalVerification.Finding

    private(set) var report = JournalVerification.Report()
    private let keys: [Ed25519.PublicKey]
    private let copies: CheckpointCopies
    private var nextCopy = 0
    /// The number that the next line must have.
    private(set) var expected: UInt64 = 0
    /// The hash that the next line's `prev` must contain.
    private var previous: [UInt8] = []
    /// The `prev` of the first existing line; nil if no earlier line was removed.
    private var beginning: [UInt8]?
    private var isBeginningSigned = true
    /// The number of the last removed line according to validly signed `retired` lines.
    private var retiredThrough: UInt64 = 0
    private var losses = RecordedLosses()
    /// The report with a finding in a segment. It is suspended because a later line may record that the rest of the
    /// segment is missing.
    private var suspended: JournalVerification.Report?
    /// The number of lines since the last valid checkpoint.
    private var run = 0

    init(keys: [Ed25519.PublicKey], copies: CheckpointCopies) {
        self.keys = keys
        self.copies = copies
    }

    /// Checks a segment. The caller stops after the first finding.
    mutating func checkSegment(
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
            record(Finding(segment.first, "the segment that starts with this line is duplicated or out of order"))
            return
        }
        defer { suspend(before: next) }
        var offset = 0
        let content = JournalContent.endOfLines(in: bytes)
        while report.finding == nil, next.map({ expected < $0.first }) ?? true, offset < content {
            guard let end = Self.endOfLine(in: bytes, from: offset) else { break }
            if end + 1 >= content, !CheckedLine(bytes, offset..<end).isWellFormed { break }
            checkLine(bytes, offset..<end)
            if report.finding == nil { lastGood = offset..<end }
            offset = end + 1
        }
        // Only preallocated line feeds follow.
        guard report.finding == nil, offset < content else { return }
        if let next, expected == next.first {
            // Queries ignore them by their numbers (`LineOrder`), so none may have the number of a line that counts.
            while let end = Self.endOfLine(in: bytes, from: offset) {
                if let number = JournalLineReader(bytes: bytes[offset..<end]).sequence, number < expected {
                    return record(Finding(number, "another line of this number follows the end of its segment"))
                }
                offset = end + 1
            }
            // A failed write left these lines, and their callers got an error. The first line of the next segment must
            // record that.
            pendingLeftover = Finding(
                expected, "the previous segment has lines after its end, and no record of a failed write explains them")
        } else if next != nil || !mayEndWithinLine {
            record(Finding(expected, "the line is incomplete"))
        }
    }

    /// Makes a segment that cannot be read the finding.
    mutating func reject(_ segment: JournalSegmentName, _ what: String) {
        if report.first == 0 { begin(with: segment, []) }
        record(Finding(segment.first, what))
    }

    /// Makes the checks that need the end of the journal, and returns the report.
    ///
    /// - Parameter foreign: The names of files that begin like that of a segment and are not one.
    mutating func finish(foreign: [String] = []) -> JournalVerification.Report {
        if report.finding == nil, let pendingLeftover { record(pendingLeftover) }
        report = losses.completed(report)
        if report.finding == nil, report.first > 1 { checkBeginning() }
        if report.finding == nil, nextCopy < copies.heads.count, let last = copies.heads.last {
            let (place, item) = (last.location.rawValue, last.location.item)
            record(
                Finding(
                    max(1, expected), through: last.number,
                    "lines are missing at the end: \(place) has a \(item) of line \(last.number)"))
        }
        if let name = foreign.first {
            let others = foreign.count > 1 ? ", and \(foreign.count - 1) others" : ""
            // Anybody may have chosen the name.
            let text = String(decoding: JSONWriter.bytes(of: .string(String(name.prefix(80)))), as: UTF8.self)
            record(Finding(0, "the directory has a file that the gateway did not write: \(text)\(others)"))
        }
        return report
    }

    /// Checks that the lines before the first existing one were removed by retention or are recorded as lost.
    private mutating func checkBeginning() {
        report.retiredThrough = isBeginningSigned ? report.first - 1 : retiredThrough
        guard report.retiredThrough < report.first - 1 else { return }
        let missing = (report.retiredThrough + 1)...(report.first - 1)
        if let found = losses.losses(ofBeginning: missing) {
            report.losses.insert(contentsOf: found, at: 0)
        } else {
            record(
                Finding(
                    report.retiredThrough + 1, through: report.first - 1,
                    "lines are missing at the beginning, and no signed line records their removal; after a restore on another "
                        + "machine, copy the earlier segments from the former one, or from the journal's archive"))
        }
    }

    // MARK: Gaps

    /// Continues with a segment after a gap. The gap becomes the finding unless a later line of the gateway records it.
    private mutating func skip(to segment: JournalSegmentName, _ bytes: [UInt8]) {
        var found = suspended ?? report
        if found.finding == nil {
            found.finding = Finding(
                expected, through: segment.first - 1,
                "lines are missing: the next segment starts with line \(segment.first)")
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

    /// Suspends a finding if another segment follows, because that segment may record that the rest of this one is
    /// missing.
    private mutating func suspend(before next: JournalSegmentName?) {
        guard report.finding != nil, let next, expected < next.first else { return }
        suspended = report
        report.finding = nil
    }

    // MARK: Lines

    /// The finding about leftover lines at a segment's end. Cleared if the next segment's first line explains them.
    private var pendingLeftover: Finding?

    private mutating func begin(with segment: JournalSegmentName, _ bytes: [UInt8]) {
        report.first = segment.first
        expected = segment.first
        previous = JournalChain.beginning.previous
        // Copied checkpoints of removed lines can no longer be compared.
        while nextCopy < copies.heads.count, copies.heads[nextCopy].number < segment.first { nextCopy += 1 }
        guard segment.first > 1, let end = Self.endOfLine(in: bytes, from: 0),
            let named = JournalLineReader(bytes: bytes[0..<end]).previous
        else { return }
        previous = named
        beginning = named
        isBeginningSigned = false
    }

    private mutating func checkLine(_ bytes: [UInt8], _ range: Range<Int>) {
        let line = CheckedLine(bytes, range)
        guard let hash = line.hash else {
            return record(Finding(expected, line.isWellFormed ? "the line was changed" : "not a line of the journal"))
        }
        guard line.number == expected else { return record(findingForMisplaced(line)) }
        guard line.hasPrevious(previous) else { return record(findingForBrokenLink(line, bytes, range)) }
        if let unexplained = pendingLeftover {
            let reader = JournalLineReader(bytes: bytes[range])
            let causes = [JournalEntry.Recovery.writeFailed, .linesMissing].map(\.rawValue)
            guard reader.kind == .recovered, reader.text("result").map(causes.contains) == true else {
                return record(unexplained)
            }
            pendingLeftover = nil
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
            if reader.kind == .recovered { losses.add(reader, number: report.last) }
        }
        if line.mayBeNodeHead { report.nodeHeads.add(JournalLineReader(bytes: bytes[range]), number: report.last) }
        if report.finding == nil { compareWithCopy(hash) }
    }

    // MARK: Signed lines

    private mutating func checkStatement(_ line: JournalLineReader) {
        guard let kind = line.kind, kind == .checkpoint || kind == .retired else {
            return checkRun()
        }
        guard !keys.isEmpty else { return }
        let number = expected - 1
        let unsigned = report.signedThrough + 1
        guard let signed = line.statement, signed.isValid(under: keys) else {
            let first = kind == .checkpoint ? max(unsigned, report.first) : number
            return record(
                Finding(first, through: number, "the \(kind.rawValue) in line \(number) is not signed by a known key"))
        }
        let statement = signed.statement
        switch statement.kind {
        case .checkpoint:
            guard statement.through == number - 1, line.previous == statement.head else {
                return record(
                    Finding(
                        max(unsigned, report.first), through: number,
                        "lines were changed and rehashed: the checkpoint in line \(number) signs another hash"
                    ))
            }
            report.checkpoints += 1
            report.signedThrough = statement.through
            run = 0
        case .retired:
            if let beginning, statement.through == report.first - 1, statement.head != beginning {
                return record(
                    Finding(
                        report.first, "line \(number) signs the removal of other lines than this one continues"))
            }
            // A removal of later lines too may not be complete yet; the chain leads to its head.
            if let beginning,
                statement.through == report.first - 1
                    ? statement.head == beginning : (report.first..<number).contains(statement.through)
            {
                isBeginningSigned = true
            }
            if statement.through < report.first { retiredThrough = max(retiredThrough, statement.through) }
        }
    }

    private mutating func checkRun() {
        guard !keys.isEmpty, run > JournalSigner.maximumUnsignedLines + 1 else { return }
        let first = max(report.signedThrough + 1, report.first)
        let what = "more than \(JournalSigner.maximumUnsignedLines) lines without a checkpoint"
        record(Finding(first, through: expected - 1, what))
    }

    private mutating func compareWithCopy(_ hash: [UInt8]) {
        while nextCopy < copies.heads.count, copies.heads[nextCopy].number == report.last {
            guard copies.heads[nextCopy].hash == hash else {
                let first = nextCopy > 0 ? copies.heads[nextCopy - 1].number + 1 : report.first
                let (place, item) = (copies.heads[nextCopy].location.rawValue, copies.heads[nextCopy].location.item)
                return record(
                    Finding(
                        max(first, report.first), through: report.last,
                        "lines were changed and rehashed: \(place) has another \(item) of line \(report.last)"))
            }
            if copies.heads[nextCopy].location == .copy { report.copiesSeen += 1 }
            nextCopy += 1
        }
    }

    private mutating func record(_ finding: Finding) {
        if report.finding == nil { report.finding = finding }
    }
}
