package import GatewayCore
package import GatewaySupport

/// Compares the journals of the other gateways in the store with the heads that this gateway's journal records, and can
/// verify all of their lines.
///
/// An attacker who controls one machine can change its journal, its signing key and its rows in the store, but not the heads
/// that other gateways have recorded. Functions block; intended for commands and background threads.
package struct NodeJournalVerification {
    /// The scope of a verification, and what it needs to know besides the journal.
    package struct Options: Sendable {
        /// Whether the chains and signatures of all lines in the store are verified too, those of this gateway included, and that
        /// the store has no other lines.
        package var verifiesLines = false
        /// Further keys that may have signed, as after a planned change of a gateway's key.
        package var keys: [Ed25519.PublicKey] = []
        /// How long journals keep lines. Those of a gateway that is gone for longer may be missing.
        package var keep: Duration
        /// The time.
        package var now: WallTime

        /// Creates the options of a verification without lines.
        package init(keep: Duration, now: WallTime) {
            (self.keep, self.now) = (keep, now)
        }
    }

    /// The result for the journal of one gateway.
    package struct Result: Sendable, Hashable {
        /// The random name of the installation.
        package let node: String
        /// The name of its machine.
        package internal(set) var host: String
        /// The number of the first line in the store; 0 without lines.
        package internal(set) var first: UInt64 = 0
        /// The number of the last line in the store; 0 without lines.
        package internal(set) var last: UInt64 = 0
        /// The number of recorded heads that match the lines in the store.
        package internal(set) var matches = 0
        /// The number of recorded heads of lines that were removed when they had expired.
        package internal(set) var removed = 0
        /// The number of lines whose chain and signatures were verified; nil if that was not asked for.
        package internal(set) var verifiedLines: UInt64?
        /// The first problem, as a clause without a full stop; nil without one.
        package internal(set) var finding: String?

        /// Records a problem, unless there is one already.
        mutating func record(_ finding: String) { self.finding = self.finding ?? finding }
    }

    /// The number of recorded heads that one query compares.
    private static let headsPerQuery = 2000
    /// The number of attempts for a journal that retention changes meanwhile.
    private static let attempts = 5

    let database: any SQLDatabase
    let options: Options
    private let instance: String

    /// Creates a verification of the journals in an open store.
    package init(_ store: PostgreSQLStore, _ options: Options) {
        self.init(store.database, instance: store.node.instance, options)
    }

    init(_ database: any SQLDatabase, instance: String, _ options: Options) {
        (self.database, self.instance, self.options) = (database, instance, options)
    }

    /// Returns the head of this gateway's own copy; nil if the store has no line of it.
    package func copyHead() throws(LedgerUnavailable) -> CopyHead? {
        guard let row = try row(instance), row.next > 0, let hash = SHA256.Digest(row.hash) else { return nil }
        return CopyHead(number: row.next - 1, hash: hash)
    }

    /// Verifies each other gateway's journal. Returns the results in the order of the hosts.
    ///
    /// - Parameter progress: Receives the number of verified lines and the number of all lines.
    package func run(
        _ recorded: RecordedHeads, progress: (UInt64, UInt64) -> Void = { _, _ in }
    ) throws(LedgerUnavailable) -> [Result] {
        let sizes = try sizes().filter { $0.key != instance || options.verifiesLines }
        let total = sizes.values.saturatingSum
        var done: UInt64 = 0
        var results: [Result] = []
        if options.verifiesLines {
            for node in try unknownInstances() {
                var result = Result(node: node, host: node)
                result.record("the store has lines of it, but no journal")
                results.append(result)
            }
        }
        for node in Set(sizes.keys).union(recorded.nodes.keys) {
            var result: Result?
            for attempt in 0..<Self.attempts {
                let row = try row(node)
                result = try verify(node, row, recorded.nodes[node]) {
                    let read = done.addingSaturating($0)
                    progress(read, max(read, total))
                }
                // Retention may have removed lines while they were read.
                guard result?.finding != nil, let again = try self.row(node), attempt == 0 || again.first != row?.first
                else { break }
            }
            done = done.addingSaturating(sizes[node] ?? 0)
            // This gateway's own copy is only searched for problems: its journal was verified before.
            if let result, node != instance || result.finding != nil { results.append(result) }
        }
        return results.sorted { ($0.host, $0.node) < ($1.host, $1.node) }
    }

    private func verify(
        _ node: String, _ row: Row?, _ known: RecordedHeads.Node?, _ onLines: (UInt64) -> Void
    ) throws(LedgerUnavailable) -> Result {
        var result = Result(node: node, host: row?.host ?? known?.host ?? node)
        let isExpired = isExpired(known)
        guard let row else {
            if isExpired {
                result.removed = known?.entries.count ?? 0
            } else {
                result.record("the store has no journal of it any more")
            }
            return result
        }
        (result.first, result.last) = row.next > 0 ? (max(1, row.first), row.next - 1) : (0, 0)
        if let known { try compare(known, with: row, &result) }
        if row.restartedAtLine != nil { result.record(row.describeNewChain()) }
        guard row.next > 0, !isExpired else {
            if options.verifiesLines, !isExpired, let finding = try strayRows(of: node) { result.record(finding) }
            return result
        }
        if try hashes([Int64(clamping: row.next - 1)], of: node, chain: row.chain)[row.next - 1]
            != SHA256.Digest(row.hash)
        {
            result.record("the store lacks its last line, \(row.next - 1)")
        }
        if row.first > 1, try !isRemovalSigned(row, by: keys(of: row)) {
            result.record("no signed line records the removal of its lines before \(row.first)")
        }
        if options.verifiesLines { try verifyLines(of: row, &result, onLines) }
        return result
    }

    private func keys(of row: Row) -> [Ed25519.PublicKey] { options.keys + [row.key].compactMap(\.self) }

    /// Returns whether the journal was recorded so long ago that its lines may have been removed.
    private func isExpired(_ known: RecordedHeads.Node?) -> Bool {
        guard let last = known?.lastRecorded else { return false }
        return options.now.microseconds - last.microseconds > Int64(options.keep / .microseconds(1))
    }

    // MARK: Recorded heads

    private func compare(
        _ known: RecordedHeads.Node, with row: Row, _ result: inout Result
    ) throws(LedgerUnavailable) {
        guard let last = known.entries.last else { return }
        let accepted = Set(options.keys.map { UInt64($0.journalID, radix: 16) })
        if let (earlier, later) = known.contradiction {
            result.record(
                "line \(earlier.recordedIn) of this gateway's journal recorded its line \(earlier.number), but line "
                    + "\(later.recordedIn) recorded another chain or another hash")
        } else if row.chain != last.chain {
            result.record(row.describeNewChain())
        } else if row.next <= known.largestNumber {
            result.record("the store lacks its lines \(row.next) to \(known.largestNumber)")
        }
        if let (_, later) = known.keyChange, !accepted.contains(later.keyID) {
            result.record(
                "its signing key had changed when line \(later.recordedIn) of this gateway's journal recorded it")
        } else if let key = row.key.flatMap({ UInt64($0.journalID, radix: 16) }), key != last.keyID,
            !accepted.contains(key)
        {
            result.record(
                "its signing key is not the one that line \(last.recordedIn) of this gateway's journal recorded")
        }
        if row.key == nil { result.record("the store has no signing key of it any more") }
        let isExpired = isExpired(known)
        var index = 0
        while index < known.entries.count {
            let part = known.entries[index..<min(index + Self.headsPerQuery, known.entries.count)]
            index += part.count
            try compare(part, with: row, isExpired: isExpired, &result)
        }
    }

    private func compare(
        _ entries: ArraySlice<RecordedHeads.Entry>, with row: Row, isExpired: Bool, _ result: inout Result
    ) throws(LedgerUnavailable) {
        var stored: [Int64: [UInt64: SHA256.Digest?]] = [:]
        for chain in Set(entries.map(\.chain)) {
            let numbers = entries.filter { $0.chain == chain }.map { Int64(clamping: $0.number) }
            stored[chain] = try hashes(numbers, of: row.node, chain: chain)
        }
        for entry in entries {
            switch stored[entry.chain]?[entry.number] {
            case .some(entry.hash): result.matches += 1
            case nil where entry.number < row.first || entry.chain < row.chain || isExpired: result.removed += 1
            case nil:
                result.record(
                    "line \(entry.number) is missing in the store, although line \(entry.recordedIn) of this gateway's "
                        + "journal recorded it")
            case .some:
                result.record(
                    "its line \(entry.number) was changed: line \(entry.recordedIn) of this gateway's journal recorded "
                        + "another hash")
            }
        }
    }

    // MARK: Lines

    /// Verifies the hash chain and the checkpoints of the present chain.
    private func verifyLines(
        of row: Row, _ result: inout Result, _ onLines: (UInt64) -> Void
    ) throws(LedgerUnavailable) {
        var check = ChainCheck(keys: keys(of: row), copies: CheckpointCopies())
        var count: UInt64 = 0
        // Lines that retention has removed from the journal go from the store a little later.
        var page = try lines(of: row, from: LineNumber.range.lowerBound)
        while let last = page.lines.last, check.report.finding == nil {
            let nextPage =
                page.finding == nil ? try lines(of: row, from: last.number.value + 1) : Page(finding: page.finding)
            count += UInt64(page.lines.count)
            onLines(count)
            let runs = Self.runs(of: page.lines)
            for (index, run) in runs.enumerated() {
                let next = index + 1 < runs.count ? runs[index + 1].first : nextPage.lines.first?.number.value
                check.checkSegment(
                    run.bytes, of: JournalSegmentName(first: run.first),
                    before: next.map(JournalSegmentName.init(first:)), mayEndWithinLine: false)
            }
            page = nextPage
        }
        let report = check.finish()
        result.verifiedLines = report.lines
        if let finding = report.finding {
            result.record("line \(finding.number): \(finding.what)")
        } else if let loss = report.losses.first {
            result.record("\(loss), as line \(loss.recordedIn) records")
        }
        if let finding = page.finding { result.record(finding) }
        if let finding = try strayRows(of: row.node) { result.record(finding) }
    }

    /// Returns the lines as segments of successive numbers, each with the number of its first line.
    private static func runs(of page: [StoredLine]) -> [(first: UInt64, bytes: [UInt8])] {
        var runs: [(first: UInt64, bytes: [UInt8])] = []
        var next: UInt64?
        for line in page {
            if line.number.value != next { runs.append((line.number.value, [])) }
            runs[runs.count - 1].bytes += line.bytes
            runs[runs.count - 1].bytes.append(UInt8(ascii: "\n"))
            next = line.number.value + 1
        }
        return runs
    }
}
