internal import GatewaySupport

/// The lines of a closed segment, read through its index, in portions. Confined to one thread.
struct IndexedLines {
    private let reader: SegmentIndexReader
    private let rows: Int
    private var vocabulary = SegmentVocabulary()
    private var texts: [[UInt8]?]
    private var loaded: ArraySlice<SegmentIndex.Row> = []
    private(set) var position: CountedSegments.Position

    /// Creates the lines after the position.
    init(_ index: SegmentIndex, after position: CountedSegments.Position) throws {
        reader = SegmentIndexReader(index)
        rows = index.header.count(of: .rows)
        texts = [[UInt8]?](repeating: nil, count: index.header.count(of: .names))
        vocabulary.effects = try reader.shapes().map {
            CountedLine(kind: $0.kind, action: $0.action, result: $0.result, count: $0.count, latency: $0.latency)
        }
        self.position = position
        // Usually the index has the rows that were counted while the lines were written.
        let isContinued =
            try position.rows == 0
            || (position.rows <= rows && reader.row(UInt32(position.rows - 1)).number + 1 == position.next)
        if !isContinued { self.position.rows = 0 }
    }

    /// Whether all lines that were read are counted.
    var isCounted: Bool { loaded.isEmpty }

    /// Reads up to `count` further lines and their names. Returns false if there are none. All lines that were read before
    /// are counted.
    mutating func load(_ count: Int) throws -> Bool {
        var found: [SegmentIndex.Row] = []
        let stop = min(rows, position.rows + count)
        for number in position.rows..<stop {
            let row = try reader.row(UInt32(number))
            guard vocabulary.effects.indices.contains(row.shape) else { throw damage }
            for name in [row.user, row.recipient] where name != SegmentIndex.none {
                guard texts.indices.contains(Int(name)) else { throw damage }
                if texts[Int(name)] == nil { texts[Int(name)] = try reader.text(ofName: name) }
            }
            found.append(row)
        }
        loaded = found[...]
        return !loaded.isEmpty
    }

    /// Counts the lines that were read, until the pairs have no room.
    mutating func count(in state: inout StatisticsState, now: Int64) {
        while state.pairs.hasRoom, let row = loaded.popFirst() {
            position.rows += 1
            guard row.number >= position.next else { continue }
            position.next = row.number + 1
            position.earliest = min(position.earliest ?? row.time, row.time)
            state.count(
                vocabulary.effects[row.shape], at: row.time, from: row.user, to: row.recipient, &vocabulary, now: now
            ) { [texts] in texts[Int($0)]?[...] ?? [] }
        }
    }

    private var damage: AuditIndex.Failure { AuditIndex.Failure(damaged: reader.index.header.first) }
}
