import Dispatch
import GatewayCore
import GatewayTesting
import Synchronization
import Testing

@testable import GatewayStore
@testable import GatewaySupport

/// A journal with statistics, which are brought up to date on request.
struct StatisticsFixture {
    let journal: JournalFixture
    let index: AuditIndex
    let statistics: JournalStatistics

    /// - Parameter isFollowing: Whether the statistics know what of the journal is on disk.
    init(_ journal: JournalFixture, isFollowing: Bool = true, limits: PairTable.Limits = .init()) {
        self.journal = journal
        index = AuditIndex(directory: journal.directory.path)
        statistics = JournalStatistics(
            index, followers: isFollowing ? journal.configuration.followers : nil,
            clocks: journal.configuration.clocks, limits: limits)
        statistics.start()
    }

    /// Counts the new lines of the segment in use, as the gateway does every second, and waits for the closed segments.
    /// Repeats it while lines are left because the pairs had no room.
    func update() throws {
        var counted: UInt64?
        while case let next = nextNumber, next != counted {
            counted = next
            try count()
            statistics.fills.sync {}
        }
    }

    /// The number after the last line of a segment in use that was counted; nil if nothing was counted.
    var nextNumber: UInt64? { statistics.state.withLock { $0?.nextNumber } }

    /// Counts the new lines of the segment in use as far as they have room.
    func count() throws {
        let end = statistics.countableEnd()
        try index.follow(onUpdate: { lines, segments in
            if let end { statistics.count(lines, segments, before: end) }
        })
    }

    /// Counts everything, also segments whose index was missing.
    func updateAll() throws {
        try update()
        try index.buildMissing()
        try update()
    }

    func pairs(_ change: (inout PairQuery) -> Void = { _ in }) async throws -> PairStatistics {
        var query = PairQuery(limit: PairQuery.maximumLimit)
        change(&query)
        return try await statistics.pairs(query)
    }

    /// The counts of pairs as text, sorted.
    static func text(_ found: PairStatistics) -> [String] {
        found.rows.map { "\($0.sender)>\($0.recipient ?? "-") \(text($0.counts)) \($0.last)" }.sorted()
    }

    static func text(_ counts: SendCounts) -> String { "\(counts.accepted)/\(counts.failed)/\(counts.refused)" }
}

/// The counts of a journal by its lines as they are on disk, without an index.
struct CountedByHand {
    let lines: [ReadLine]

    private func sends(_ range: Range<WallTime>) -> [(line: ReadLine, time: WallTime, word: SendClass)] {
        lines.compactMap { line in
            guard line.members["action"] as? String == "send", let at = line.members["at"] as? String,
                let time = WallTime(rfc3339: at), range.contains(time)
            else { return nil }
            switch line.kind {
            case "outcome": return (line, time, line.result == "accepted" ? .accepted : .failed)
            case "refusal": return (line, time, .refused)
            default: return nil
            }
        }
    }

    func pairs(_ range: Range<WallTime>, where condition: (ReadLine) -> Bool = { _ in true }) -> [String] {
        var found: [String: (counts: SendCounts, last: WallTime)] = [:]
        for (line, time, word) in sends(range) where condition(line) {
            guard let user = line.members["user"] as? String else { continue }
            let key = "\(user)>\(line.recipient ?? "-")"
            var entry = found[key] ?? (SendCounts(), time)
            entry.counts[word] += line.members["count"] as? Int ?? 1
            entry.last = max(entry.last, time)
            found[key] = entry
        }
        return found.map { "\($0.key) \(StatisticsFixture.text($0.value.counts)) \($0.value.last)" }.sorted()
    }

    func minutes(_ range: Range<WallTime>) -> [String: String] {
        var found: [String: (sends: SendCounts, latencies: [Int])] = [:]
        for (line, time, word) in sends(range) {
            let minute = WallTime(microseconds: time.microseconds / 60_000_000 * 60_000_000).description
            var entry = found[minute] ?? (SendCounts(), [])
            entry.sends[word] += line.members["count"] as? Int ?? 1
            if let milliseconds = line.members["ms"] as? Int { entry.latencies.append(milliseconds) }
            found[minute] = entry
        }
        return found.mapValues { entry in
            let bounds = LatencyBuckets.bounds.map(Int.init)
            let buckets = (0...bounds.count).map { bucket in
                entry.latencies.count { value in
                    (bucket == bounds.count || value <= bounds[bucket]) && (bucket == 0 || value > bounds[bucket - 1])
                }
            }
            return "\(StatisticsFixture.text(entry.sends)) \(buckets)"
        }
    }
}
