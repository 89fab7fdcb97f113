internal import GatewayCore

/// The lines that the gateway recorded as missing, and the gaps in the chain that these records may explain.
struct RecordedLosses {
    /// A gap in the chain, and the report up to it.
    struct Gap {
        let lines: ClosedRange<UInt64>
        /// The report with the gap as its finding. It applies unless a record explains the gap.
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

    /// Adds a gap, after which the chain check continues.
    mutating func add(_ gap: Gap) { gaps.append(gap) }

    /// Adds the record of a valid `recovered` line.
    mutating func add(_ line: JournalLineReader, number: UInt64) {
        let result = line.text("result").flatMap { JournalEntry.Recovery(rawValue: $0) }
        let time = line.text("at") ?? ""
        switch result {
        case .linesMissing:
            guard let first = line.lineNumber("first"), let through = line.lineNumber("through"), first <= through
            else {
                return
            }
            records.append(Record(lines: first...through, number: number, time: time))
        case .checkpointMismatch:
            guard let through = line.lineNumber("through") else { return }
            mismatches.append(.init(.another, through...through, recordedIn: number, at: time))
        case .tornTail, .writeFailed, .notesDropped, nil: return
        }
    }

    /// Returns the recorded losses that cover all of the lines, in order; nil if a line is not covered.
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
            next = through + 1
        }
        return losses
    }

    /// Returns the recorded losses for a gap at the beginning. One record that ends at the gap's end is enough, because
    /// retention may have removed the records about earlier lines.
    func losses(ofBeginning lines: ClosedRange<UInt64>) -> [JournalVerification.Loss]? {
        if let losses = losses(of: lines) { return losses }
        guard let record = records.first(where: { $0.lines.upperBound == lines.upperBound }) else { return nil }
        return [.init(.missing, lines, recordedIn: record.number, at: record.time)]
    }

    /// Returns the report with the recorded losses. The first unexplained gap becomes its finding, and only losses
    /// before that gap are listed.
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
