internal import GatewayCore

/// The lines that the gateway itself recorded as missing, and the gaps in the chain that such a record may explain.
struct RecordedLosses {
    /// A gap in the chain, and the report up to it.
    struct Gap {
        let lines: ClosedRange<UInt64>
        /// With the finding that the gap is, unless a record explains it.
        let report: JournalVerification.Report
    }

    private struct Record {
        let lines: ClosedRange<UInt64>
        let number: UInt64
        let time: String
    }

    private var gaps: [Gap] = []
    private var records: [Record] = []
    private var mismatches: [JournalVerification.Loss] = []

    /// Adds a gap; the check goes on behind it.
    mutating func add(_ gap: Gap) { gaps.append(gap) }

    /// Takes a good `recovered` line with its number.
    mutating func take(_ line: JournalLineReader, number: UInt64) {
        let result = line.text("result").flatMap { JournalEntry.Mending(rawValue: $0) }
        let time = line.text("at") ?? ""
        switch result {
        case .linesMissing:
            guard let first = line.number("first"), let through = line.number("through"), first <= through else {
                return
            }
            records.append(Record(lines: first...through, number: number, time: time))
        case .checkpointMismatch:
            guard let through = line.number("through") else { return }
            mismatches.append(.init(.another, through...through, recordedIn: number, at: time))
        case .tornTail, .writeFailed, .notesDropped, nil: return
        }
    }

    /// Whether records say that all of the lines are missing; the losses in order, or nil.
    func losses(of lines: ClosedRange<UInt64>) -> [JournalVerification.Loss]? {
        var losses: [JournalVerification.Loss] = []
        var next = lines.lowerBound
        while next <= lines.upperBound {
            guard
                let record = records.filter({ $0.lines.contains(next) }).max(by: {
                    $0.lines.upperBound < $1.lines.upperBound
                })
            else { return nil }
            let through = min(record.lines.upperBound, lines.upperBound)
            losses.append(.init(.missing, next...through, recordedIn: record.number, at: record.time))
            guard through < .max else { break }
            next = through + 1
        }
        return losses
    }

    /// The losses of a gap at the beginning: of lines that retention removed before, no line may be left that says so.
    func losses(ofBeginning lines: ClosedRange<UInt64>) -> [JournalVerification.Loss]? {
        if let losses = losses(of: lines) { return losses }
        guard let record = records.first(where: { $0.lines.upperBound == lines.upperBound }) else { return nil }
        return [.init(.missing, lines, recordedIn: record.number, at: record.time)]
    }

    /// Completes the report: adds the losses up to the first gap that no record explains, which is the finding then.
    func completed(_ report: JournalVerification.Report) -> JournalVerification.Report {
        var losses: [JournalVerification.Loss] = []
        for gap in gaps {
            guard let explained = self.losses(of: gap.lines) else {
                var report = gap.report
                report.losses = losses
                return report
            }
            losses += explained
        }
        var report = report
        report.losses = losses + mismatches
        return report
    }
}
