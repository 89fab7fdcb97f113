internal import GatewayCore
internal import GatewaySupport

extension PairTable {
    /// Returns the pairs that match, without ``PairStatistics/coverage``. Visits each row at most once.
    func statistics(_ query: PairQuery, now: Int64) -> PairStatistics {
        let selection = BucketSelection(
            since: query.since?.microseconds ?? .min, until: query.until?.microseconds ?? .max, retention: retention,
            now: now)
        let limit = max(0, min(query.limit, PairQuery.maximumLimit))
        var best = BestPairs(limit: limit)
        var total = SendCounts()
        var matching = 0
        if let filter = NameFilter(query, names) {
            pairs.withUnsafeBufferPointer { pairs in
                rows.withUnsafeBufferPointer { rows in
                    for pair in pairs.indices where filter.matches(pairs[pair]) {
                        guard let found = Self.sum(rows, from: heads[pair], selection) else { continue }
                        let selected = query.result.map { found.counts[$0] } ?? found.counts.total
                        guard selected > 0 else { continue }
                        matching += 1
                        total += found.counts
                        best.add(.init(pair: pair, selected: selected, counts: found.counts, last: found.last))
                    }
                }
            }
        }
        let found = best.sorted()
        var omitted = total
        for entry in found { omitted -= entry.counts }
        var others = SendCounts()
        for (bucket, counts) in self.others where selection.contains(bucket) { others += counts }
        let (first, end) = (selection.hours.lowerBound, selection.hours.upperBound)
        return PairStatistics(
            rows: found.map(row), total: total, omittedPairs: matching - found.count, omitted: omitted, others: others,
            range: WallTime(
                microseconds: first * StatisticsBucket.hour)..<WallTime(microseconds: end * StatisticsBucket.hour),
            coverage: StatisticsCoverage())
    }

    /// Returns the sums of a pair's rows in the selected buckets; nil if it has none.
    private static func sum(
        _ rows: UnsafeBufferPointer<Row>, from head: UInt32, _ selection: BucketSelection
    ) -> (counts: SendCounts, last: Int64)? {
        var counts = SendCounts()
        var last = Int64.min
        var number = head
        while number != SegmentIndex.none {
            let row = rows[Int(number)]
            if selection.contains(row.bucket) {
                counts += row.counts
                last = max(last, row.last)
            }
            number = row.next
        }
        return last == .min ? nil : (counts, last)
    }

    private func row(_ entry: BestPairs.Entry) -> PairStatistics.Row {
        let key = pairs[entry.pair]
        func name(_ number: UInt32) -> String? {
            number == SegmentIndex.none ? nil : String(decoding: names.text[names.range(of: number)], as: UTF8.self)
        }
        return PairStatistics.Row(
            sender: name(UInt32(key >> 32)) ?? "", recipient: name(UInt32(truncatingIfNeeded: key)),
            counts: entry.counts, last: WallTime(microseconds: entry.last))
    }
}

/// The conditions of a query on names, as numbers of a ``PairTable``.
private struct NameFilter {
    private let user: UInt32?
    private let sender: UInt32?
    private let recipient: UInt32?

    /// Creates the conditions; nil if no pair can match.
    init?(_ query: PairQuery, _ names: WordTable) {
        do throws(UnknownName) {
            user = try Self.number(query.user?.text, names)
            sender = try Self.number(query.sender?.text, names)
            recipient = try Self.number(query.recipient?.text, names)
        } catch {
            return nil
        }
    }

    private struct UnknownName: Error {}

    private static func number(_ name: String?, _ names: WordTable) throws(UnknownName) -> UInt32? {
        guard let name else { return nil }
        guard let number = Array(name.utf8).withUnsafeBytes({ names.find($0) }) else { throw UnknownName() }
        return number
    }

    func matches(_ key: UInt64) -> Bool {
        let (from, to) = (UInt32(key >> 32), UInt32(truncatingIfNeeded: key))
        return (user == nil || from == user || to == user) && (sender == nil || from == sender)
            && (recipient == nil || to == recipient)
    }
}

/// Collects the pairs with the most sends. Holds at most a few times as many as the limit.
private struct BestPairs {
    struct Entry {
        let pair: Int
        /// The number of sends of the queried class.
        let selected: Int
        let counts: SendCounts
        let last: Int64
    }

    private let limit: Int
    private var entries: [Entry] = []
    /// The number of sends that a further pair must exceed. Of pairs with equal numbers, the first ones are kept.
    private var floor = 0

    init(limit: Int) { self.limit = limit }

    mutating func add(_ entry: Entry) {
        guard limit > 0, entry.selected > floor else { return }
        entries.append(entry)
        guard entries.count >= 2 * limit + 1000 else { return }
        entries.sort { ($1.selected, $0.pair) < ($0.selected, $1.pair) }
        entries.removeLast(entries.count - limit)
        floor = entries.last?.selected ?? 0
    }

    /// Returns the best pairs: the most sends first, then the latest.
    consuming func sorted() -> [Entry] {
        entries.sort { ($1.selected, $0.pair) < ($0.selected, $1.pair) }
        return entries.prefix(limit).sorted { ($1.selected, $1.last, $0.pair) < ($0.selected, $0.last, $1.pair) }
    }
}
