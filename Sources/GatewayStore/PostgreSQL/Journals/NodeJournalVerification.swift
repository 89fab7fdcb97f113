package import GatewayCore
internal import GatewaySupport

/// Compares the journals of the other nodes in the store with what this node's journal records about them, and can verify
/// all of their lines.
///
/// Whoever controls a node can change its journal, its signing key, and its rows in the store, but not the ends that other
/// nodes have recorded. Functions block; intended for commands and background threads.
package struct NodeJournalVerification {
    /// The number of recorded ends that one query compares.
    private static let linesAtOnce = 2000

    let database: any SQLDatabase
    private let instance: String

    /// Creates a verification of the journals in an open store.
    package init(_ store: PostgreSQLStore) { self.init(store.database, instance: store.node.instance) }

    init(_ database: any SQLDatabase, instance: String) { (self.database, self.instance) = (database, instance) }

    /// The result for the journal of one node.
    package struct Result: Sendable, Hashable {
        /// The random name of the installation.
        package let node: String
        /// The name of its machine.
        package let host: String
        /// The number of the first line in the store; 0 without lines.
        package internal(set) var first: UInt64 = 0
        /// The number of the last line in the store; 0 without lines.
        package internal(set) var last: UInt64 = 0
        /// The number of recorded ends that agree with the lines in the store.
        package internal(set) var agreed = 0
        /// The number of recorded ends before the first line in the store: the node has removed these lines.
        package internal(set) var removed = 0
        /// The number of lines whose chain and signatures were verified; nil if that was not asked for.
        package internal(set) var verifiedLines: UInt64?
        /// The first problem, as a clause without a full stop; nil without one.
        package internal(set) var finding: String?
    }

    /// Returns the end of this node's own copy; nil if the store has no line of it.
    package func copiedEnd() throws(LedgerUnavailable) -> CopiedEnd? {
        guard let row = try rows().first(where: { $0.node == instance }), row.next > 0,
            let hash = SHA256.Digest(row.hash)
        else { return nil }
        return CopiedEnd(number: row.next - 1, hash: hash)
    }

    /// Compares each other node's journal with the recorded ends.
    ///
    /// - Parameters:
    ///   - verifiesLines: Whether the chains and signatures of all lines in the store are verified too.
    ///   - progress: Receives the number of verified lines and the number of all lines.
    package func run(
        _ recorded: RecordedHeads, verifiesLines: Bool, progress: (UInt64, UInt64) -> Void = { _, _ in }
    ) throws(LedgerUnavailable) -> [Result] {
        let rows = try rows().filter { $0.node != instance }
        let total = rows.reduce(UInt64(0)) { $0 + $1.next - min($1.next, max(1, $1.first)) }
        var done: UInt64 = 0
        var results: [Result] = []
        for row in rows {
            var result = Result(node: row.node, host: row.host)
            (result.first, result.last) = row.next > 0 ? (max(1, row.first), row.next - 1) : (0, 0)
            if let known = recorded.nodes[row.node] { try compare(known, with: row, &result) }
            if result.finding == nil, row.startedAgainAt != nil { result.finding = row.describeNewChain() }
            if verifiesLines {
                try verifyLines(of: row, &result) { count in
                    done += count
                    progress(done, max(done, total))
                }
            }
            results.append(result)
        }
        for (node, known) in recorded.nodes where !rows.contains(where: { $0.node == node }) {
            var result = Result(node: node, host: known.host)
            result.finding = "the store has no journal of this node any more"
            results.append(result)
        }
        return results.sorted { ($0.host, $0.node) < ($1.host, $1.node) }
    }

    // MARK: Recorded ends

    private func compare(_ known: RecordedHeads.Node, with row: Row, _ result: inout Result) throws(LedgerUnavailable) {
        if let (earlier, later) = known.contradiction {
            result.finding =
                "its journal had line \(earlier.number) according to line \(earlier.recordedIn) here, but not any more "
                + "according to line \(later.recordedIn)"
            return
        }
        guard let last = known.entries.last else { return }
        if row.chain > last.chain {
            result.finding = row.describeNewChain()
        } else if (row.chain, row.next) < (last.chain, last.number + 1) {
            result.finding = "the store has lost its lines from \(row.next) to \(last.number)"
        } else if known.keyID != row.key?.journalID {
            result.finding = "its signing key is not the one that line \(last.recordedIn) here records"
        }
        var index = 0
        while index < known.entries.count {
            let part = known.entries[index..<min(index + Self.linesAtOnce, known.entries.count)]
            index += part.count
            try compare(part, with: row, &result)
        }
    }

    private func compare(
        _ entries: ArraySlice<RecordedHeads.Entry>, with row: Row, _ result: inout Result
    ) throws(LedgerUnavailable) {
        var stored: [RecordedLine: SHA256.Digest?] = [:]
        for chain in Set(entries.map(\.chain)) {
            let numbers = entries.filter { $0.chain == chain }.map { Int64(clamping: $0.number) }
            for (number, hash) in try hashes(numbers, of: row.node, chain: chain) {
                stored[RecordedLine(chain: chain, number: number)] = hash
            }
        }
        for entry in entries {
            switch stored[RecordedLine(chain: entry.chain, number: entry.number)] {
            case .some(entry.hash): result.agreed += 1
            case nil where entry.number < row.first || entry.chain < row.chain: result.removed += 1
            case nil:
                result.finding =
                    result.finding ?? "the store has no line \(entry.number) of it, which line "
                    + "\(entry.recordedIn) here records"
            case .some:
                result.finding =
                    result.finding ?? "its line \(entry.number) was changed: line \(entry.recordedIn) here "
                    + "records another hash"
            }
        }
    }

    private struct RecordedLine: Hashable {
        let chain: Int64
        let number: UInt64
    }

    // MARK: Lines

    /// Verifies the hash chain and the checkpoints of the present chain.
    private func verifyLines(
        of row: Row, _ result: inout Result, _ onLines: (UInt64) -> Void
    ) throws(LedgerUnavailable) {
        var check = ChainCheck(keys: [row.key].compactMap(\.self), copies: CheckpointCopies())
        var page = try lines(of: row, from: 0)
        while let last = page.last, check.report.finding == nil {
            let nextPage = try lines(of: row, from: last.number + 1)
            onLines(UInt64(page.count))
            let runs = Self.runs(of: page)
            for (index, run) in runs.enumerated() {
                let next = index + 1 < runs.count ? runs[index + 1].first : nextPage.first?.number
                check.checkSegment(
                    run.bytes, of: JournalSegmentName(first: run.first),
                    before: next.map(JournalSegmentName.init(first:)),
                    mayEndWithinLine: false)
            }
            page = nextPage
        }
        let report = check.finish()
        result.verifiedLines = report.lines
        guard result.finding == nil else { return }
        if let finding = report.finding {
            result.finding = "its line \(finding.number): \(finding.what)"
        } else if let loss = report.losses.first {
            result.finding = "\(loss), as its line \(loss.recordedIn) records"
        }
    }

    /// Returns the lines as segments of successive numbers, each with the number of its first line.
    private static func runs(of page: [StoredLine]) -> [(first: UInt64, bytes: [UInt8])] {
        var runs: [(first: UInt64, bytes: [UInt8])] = []
        var next: UInt64?
        for line in page {
            if line.number != next { runs.append((line.number, [])) }
            runs[runs.count - 1].bytes += line.bytes
            runs[runs.count - 1].bytes.append(UInt8(ascii: "\n"))
            next = line.number + 1
        }
        return runs
    }
}
