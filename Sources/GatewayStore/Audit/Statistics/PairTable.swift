internal import GatewaySupport

/// The numbers of sends by sender, recipient and bucket of time.
///
/// Its memory is bounded by the number of rows and the bytes of names. A row is one pair in one bucket, 32 bytes; the rows
/// of a pair are a linked list. When the table is full, ``makeRoom()`` moves the smallest rows of the senders with the
/// most rows into the numbers of ``others``. Names and pairs have numbers, which a removal of rows changes
/// (``generation``). While ``hasRoom`` holds, adding a send never takes longer than about a millisecond; the owner runs
/// ``maintain(to:)``, which takes longer, on a copy.
struct PairTable {
    /// The bounds of a table.
    struct Limits: Sendable, Hashable {
        /// The maximum number of rows.
        var rows = 1_000_000
        /// The maximum length of all names, in bytes.
        var nameBytes = 32 << 20
    }

    /// The sends of a pair in a bucket. The counters saturate.
    struct Row {
        var pair: UInt32
        let bucket: StatisticsBucket
        var accepted: UInt32 = 0
        var failed: UInt32 = 0
        var refused: UInt32 = 0
        /// The next row of the pair; ``SegmentIndex/none`` in the last one.
        var next: UInt32
        /// The time of the last send, in microseconds since 1970.
        var last: Int64

        var counts: SendCounts {
            var counts = SendCounts()
            (counts.accepted, counts.failed, counts.refused) = (Int(accepted), Int(failed), Int(refused))
            return counts
        }

        mutating func add(_ word: SendClass, _ count: Int, at time: Int64) {
            switch word {
            case .accepted: accepted = UInt32(clamping: Int(accepted) + count)
            case .failed: failed = UInt32(clamping: Int(failed) + count)
            case .refused: refused = UInt32(clamping: Int(refused) + count)
            }
            last = max(last, time)
        }
    }

    let limits: Limits
    /// The buckets that are counted.
    var retention: PairRetention
    var names = WordTable()
    /// The sender and recipient of each pair, as numbers of names in the upper and the lower half.
    var pairs: [UInt64] = []
    /// The first row of each pair.
    var heads: [UInt32] = []
    var rows: [Row] = []
    /// The sends whose rows were removed to make room, by bucket.
    var others: [StatisticsBucket: SendCounts] = [:]
    /// Increases when the numbers of names change.
    var generation = 0
    var slots = [UInt32](repeating: SegmentIndex.none, count: 256)
    private static let seed = UInt64.random(in: .min ... .max)

    init(limits: Limits = Limits(), retention: PairRetention) {
        // After rows were removed, two more always have room.
        self.limits = Limits(rows: max(8, limits.rows), nameBytes: limits.nameBytes)
        self.retention = retention
    }

    /// Whether the next sends can be added without ``maintain(to:)``.
    var hasRoom: Bool { !isFull && !needsEnlargement }

    /// Whether the memory is so large that its enlargement takes longer than a millisecond, and has no room for two rows.
    var needsEnlargement: Bool {
        if rows.count >= 1 << 16, rows.count + 2 > rows.capacity { return true }
        if pairs.count >= 1 << 16 {
            let room = min(pairs.capacity, heads.capacity, slots.count / 2)
            if pairs.count + 1 > room { return true }
        }
        return names.needsEnlargement
    }

    /// Makes room for as many rows, pairs and names as there are, within the limits.
    mutating func enlarge() {
        rows.reserveCapacity(min(limits.rows, rows.count * 2))
        pairs.reserveCapacity(pairs.count * 2)
        heads.reserveCapacity(pairs.count * 2)
        if (pairs.count + 1) * 2 > slots.count { enlargeSlots() }
        if names.needsEnlargement { names.enlarge() }
    }

    private mutating func enlargeSlots() {
        slots = [UInt32](repeating: SegmentIndex.none, count: slots.count * 2)
        for (number, key) in pairs.enumerated() { slots[slot(of: key)] = UInt32(number) }
    }

    /// Whether ``makeRoom()`` must be called before the next sends are added.
    var isFull: Bool { rows.count + 2 > limits.rows || names.text.count > limits.nameBytes }

    /// Returns whether sends of the time are counted.
    func keeps(_ time: Int64) -> Bool { StatisticsBucket.day(of: time).map(retention.keeps) ?? false }

    /// Adds sends, unless they are outside the retention. The caller has made room for two rows.
    ///
    /// - Parameters:
    ///   - sender: The number of the sender's name.
    ///   - recipient: The number of the recipient's name; ``SegmentIndex/none`` if there is none.
    mutating func add(_ word: SendClass, _ count: Int, from sender: UInt32, to recipient: UInt32, at time: Int64) {
        guard let day = StatisticsBucket.day(of: time), let hour = StatisticsBucket.hour(of: time), retention.keeps(day)
        else { return }
        let pair = number(ofPair: UInt64(sender) << 32 | UInt64(recipient))
        add(word, count, to: pair, day, at: time)
        if retention.keeps(hour) { add(word, count, to: pair, hour, at: time) }
    }

    private mutating func add(
        _ word: SendClass, _ count: Int, to pair: UInt32, _ bucket: StatisticsBucket, at time: Int64
    ) {
        // The rows used last come first, so the first two are nearly always the right ones: those of a day and an hour.
        var number = heads[Int(pair)]
        var (previous, depth) = (SegmentIndex.none, 0)
        while number != SegmentIndex.none {
            if rows[Int(number)].bucket == bucket {
                rows[Int(number)].add(word, count, at: time)
                if depth > 1 { moveToFront(number, after: previous, of: pair) }
                return
            }
            (previous, number, depth) = (number, rows[Int(number)].next, depth + 1)
        }
        var row = Row(pair: pair, bucket: bucket, next: heads[Int(pair)], last: time)
        row.add(word, count, at: time)
        append(row)
    }

    /// Makes a row the first one of its pair. A pair may have hundreds of rows, which are not searched again then.
    private mutating func moveToFront(_ number: UInt32, after previous: UInt32, of pair: UInt32) {
        rows[Int(previous)].next = rows[Int(number)].next
        rows[Int(number)].next = heads[Int(pair)]
        heads[Int(pair)] = number
    }

    /// Appends a row, whose pair exists.
    private mutating func append(_ row: Row) {
        var row = row
        row.next = heads[Int(row.pair)]
        heads[Int(row.pair)] = UInt32(rows.count)
        rows.append(row)
    }

    /// Returns the number of a pair; adds it if it is new.
    mutating func number(ofPair key: UInt64) -> UInt32 {
        let slot = slot(of: key)
        if slots[slot] != SegmentIndex.none { return slots[slot] }
        let number = UInt32(pairs.count)
        pairs.append(key)
        heads.append(SegmentIndex.none)
        slots[slot] = number
        if pairs.count * 2 > slots.count { enlargeSlots() }
        return number
    }

    private func slot(of key: UInt64) -> Int {
        var hash = (key ^ Self.seed) &* 0x9E37_79B9_7F4A_7C15
        hash = (hash ^ (hash >> 32)) &* 0xC4CE_B9FE_1A85_EC53
        var slot = Int(truncatingIfNeeded: hash >> 32) & (slots.count - 1)
        while slots[slot] != SegmentIndex.none, pairs[Int(slots[slot])] != key { slot = (slot + 1) & (slots.count - 1) }
        return slot
    }
}
