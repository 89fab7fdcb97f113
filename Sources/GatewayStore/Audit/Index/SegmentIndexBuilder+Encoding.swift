internal import GatewaySupport

extension SegmentIndexBuilder {
    /// Encodes the collected lines.
    ///
    /// - Parameters:
    ///   - end: The number of the next segment's first line; nil for a segment that is still written to.
    ///   - size: The size of the segment that the index covers, which includes bytes that are not complete lines.
    func encoded(before end: UInt64?, size: UInt64) -> SegmentIndex.Encoded {
        let order = names.sortedByHash()
        var numbers = [UInt32](repeating: 0, count: order.count)
        for (number, name) in order.enumerated() { numbers[Int(name.number)] = UInt32(number) }
        func renumbered(_ name: UInt32) -> UInt32 { name == SegmentIndex.none ? name : numbers[Int(name)] }

        let users = Postings(rows.lazy.map { renumbered($0.user) }, names: order.count)
        let recipients = Postings(rows.lazy.map { renumbered($0.recipient) }, names: order.count)
        var calls: [UInt64] = []
        calls.reserveCapacity(rows.count)
        for (number, row) in rows.enumerated() where row.call.form != .missing {
            calls.append(UInt64(row.call.hash) << 32 | UInt64(number))
        }
        calls.sort()
        let ranges = callRanges
        let longNames = order.lazy.map { names.range(of: $0.number) }.filter { $0.count > SegmentIndex.inlineBytes }

        var header = SegmentIndex.Header()
        header.first = first
        header.end = end ?? 0
        header.bytes = size
        header.earliest = rows.lazy.map(\.time).min() ?? 0
        header.latest = rows.lazy.map(\.time).max() ?? 0
        header.lastTime = rows.last?.time ?? 0
        if let lastLine { header.lastLine = (UInt64(lastLine.offset), lastLine.tail) }
        // Only a start uses them, which reads the indexes of closed segments.
        let unmatched = end == nil ? [] : unmatchedRows(calls)
        // In the order of the sections.
        header.counts = [
            rows.count, users.rows.count, recipients.rows.count, order.count, longNames.reduce(0) { $0 + $1.count },
            shapeList.count, terms.text.count + terms.count, calls.count, ranges.count, keyedRows.count,
            unmatched.count,
        ]
        if let start = lastStart { header.lastStart = UInt32(start) }
        var writer = SegmentIndexWriter(header)
        for row in rows {
            writer.append(row.number)
            writer.append(UInt64(bitPattern: row.time))
            writer.append(row.offset)
            writer.append(row.length)
            writer.append(row.shape)
            writer.append(renumbered(row.user))
            writer.append(renumbered(row.recipient))
        }
        for row in users.rows { writer.append(row) }
        for row in recipients.rows { writer.append(row) }
        var textStart: UInt32 = 0
        for (number, name) in order.enumerated() {
            let range = names.range(of: name.number)
            writer.append(name.hash)
            writer.append(users.starts[number])
            writer.append(recipients.starts[number])
            writer.append(UInt32(range.count))
            if range.count <= SegmentIndex.inlineBytes {
                writer.append(names.text[range])
                writer.append(zeros: SegmentIndex.inlineBytes - range.count)
            } else {
                writer.append(textStart)
                writer.append(zeros: SegmentIndex.inlineBytes - 4)
                textStart += UInt32(range.count)
            }
        }
        for range in longNames { writer.append(names.text[range]) }
        for shape in shapeList {
            for term in [shape.kind, shape.action, shape.pns, shape.result] { writer.append(term) }
            writer.append(UInt64(bitPattern: shape.count))
            writer.append(shape.latency)
        }
        for term in 0..<UInt32(terms.count) {
            let range = terms.range(of: term)
            writer.append(UInt8(range.count))
            writer.append(terms.text[range])
        }
        for call in calls {
            writer.append(UInt32(truncatingIfNeeded: call >> 32))
            writer.append(UInt32(truncatingIfNeeded: call))
        }
        for range in ranges { for number in [range.high, range.lowest, range.highest] { writer.append(number) } }
        for row in keyedRows { writer.append(row) }
        for row in unmatched { writer.append(row) }
        return writer.finish()
    }

    /// The ranges of the calls' ids. Each id generator counts within its own range of numbers, so a few ranges cover
    /// the ids in a segment.
    private var callRanges: [CallRange] {
        var ranges: [CallRange] = []
        for row in rows where row.call.form == .id {
            let (high, low) = (row.call.high, row.call.low)
            // The range of the line before is usually the right one.
            if let last = ranges.lastIndex(where: { $0.high == high && $0.lowest >> 40 == low >> 40 }) {
                ranges[last].lowest = min(ranges[last].lowest, low)
                ranges[last].highest = max(ranges[last].highest, low)
            } else if ranges.count < Self.maximumCallRanges {
                ranges.append(CallRange(high: high, lowest: low, highest: low))
            } else {
                // Only forged lines have so many. Without ranges, every call is looked up.
                return []
            }
        }
        return ranges
    }

    private struct CallRange {
        let high: UInt64
        var lowest: UInt64
        var highest: UInt64
    }

    private var lastStart: Int? {
        let start = terms.find("start")
        return start.flatMap { start in rows.lastIndex { shapeList[Int($0.shape)].kind == start } }
    }

    /// The members by which an outcome belongs to its intent.
    private struct MatchKey: Hashable {
        let high: UInt64
        let low: UInt64
        /// The recipient of a send. A send to an audience has an intent for each.
        let recipient: UInt32
    }

    /// Returns the rows of the intents without an outcome in this segment, and of the outcomes without an intent, in
    /// ascending order. A call whose id is not of the gateway's form is never matched.
    private func unmatchedRows(_ calls: [UInt64]) -> [UInt32] {
        let (intent, outcome) = (terms.find("intent"), terms.find("outcome"))
        let send = terms.find("send")
        var unmatched: [UInt32] = []
        // The intents without an outcome so far, of the calls with one hash.
        var open: [MatchKey: [UInt32]] = [:]
        var hash: UInt64?
        for entry in calls {
            if entry >> 32 != hash {
                for rows in open.values { unmatched += rows }
                open.removeAll(keepingCapacity: true)
                hash = entry >> 32
            }
            let number = UInt32(truncatingIfNeeded: entry)
            let row = rows[Int(number)]
            let shape = shapeList[Int(row.shape)]
            guard shape.kind == intent || shape.kind == outcome else { continue }
            guard row.call.form == .id else {
                unmatched.append(number)
                continue
            }
            let key = MatchKey(
                high: row.call.high, low: row.call.low,
                recipient: shape.action == send ? row.recipient : SegmentIndex.none)
            if shape.kind == intent {
                open[key, default: []].append(number)
            } else if open[key]?.popLast() == nil {
                unmatched.append(number)
            }
        }
        for rows in open.values { unmatched += rows }
        return unmatched.sorted()
    }
}

/// The rows of each name, grouped by name in ascending order.
private struct Postings {
    private(set) var rows: [UInt32]
    /// The index in ``rows`` of each name's first row.
    private(set) var starts: [UInt32]

    init(_ column: some Sequence<UInt32>, names: Int) {
        var counts = [UInt32](repeating: 0, count: names + 1)
        var total = 0
        for name in column where name != SegmentIndex.none {
            counts[Int(name)] += 1
            total += 1
        }
        var start: UInt32 = 0
        for name in counts.indices {
            (counts[name], start) = (start, start + counts[name])
        }
        starts = Array(counts.dropLast())
        var next = counts
        rows = [UInt32](repeating: 0, count: total)
        for (row, name) in column.enumerated() where name != SegmentIndex.none {
            rows[Int(next[Int(name)])] = UInt32(row)
            next[Int(name)] += 1
        }
    }
}
