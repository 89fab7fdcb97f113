extension PairTable {
    /// Removes the buckets that are not retained, makes room if the table is full, and enlarges it if necessary. Then
    /// ``hasRoom`` holds. Takes up to half a second.
    mutating func maintain(to retention: PairRetention) {
        expire(to: retention)
        if isFull { makeRoom() }
        if needsEnlargement { enlarge() }
    }

    /// Removes a quarter of the rows, and more while the names need more than three quarters of their bytes, so that many
    /// can be added before the table is full again. The sends of removed rows count in ``others``.
    ///
    /// The senders with the most rows lose rows until no sender has more than a common level. So a sender with very many
    /// recipients displaces its own rows, and those of other senders only where they have more than the level. Of a
    /// sender's rows, those of the oldest days go first, and of a day those with the fewest sends.
    mutating func makeRoom() {
        repeat {
            removeRows(downTo: min(limits.rows, rows.count) / 4 * 3)
        } while names.text.count > limits.nameBytes / 4 * 3 && !rows.isEmpty
    }

    private mutating func removeRows(downTo target: Int) {
        var held = [Int](repeating: 0, count: names.count)
        for row in rows { held[sender(of: row)] += 1 }
        let level = Self.level(of: held, total: target)
        // The rows of the senders above the level, grouped by sender.
        var starts = [Int](repeating: 0, count: held.count)
        var total = 0
        for sender in held.indices {
            starts[sender] = total
            if held[sender] > level { total += held[sender] }
        }
        var orders = [UInt64](repeating: 0, count: total)
        var next = starts
        for (number, row) in rows.enumerated() {
            let sender = sender(of: row)
            guard held[sender] > level else { continue }
            orders[next[sender]] = Self.order(of: row, UInt32(number))
            next[sender] += 1
        }
        var isRemoved = [Bool](repeating: false, count: rows.count)
        // The level is a whole number, so that all senders above it may have more rows than must go.
        var excess = rows.count - target
        orders.withUnsafeMutableBufferPointer { orders in
            for sender in held.indices where held[sender] > level && excess > 0 {
                var ofSender = orders[starts[sender]..<(starts[sender] + held[sender])]
                ofSender.sort()
                let removed = min(held[sender] - level, excess)
                excess -= removed
                for order in ofSender.prefix(removed) {
                    isRemoved[Int(UInt32(truncatingIfNeeded: order))] = true
                }
            }
        }
        for (number, row) in rows.enumerated() where isRemoved[number] {
            others[row.bucket, default: SendCounts()] += row.counts
        }
        rebuild { !isRemoved[$0] }
    }

    /// Removes the buckets that are not retained, and the numbers of their others.
    mutating func expire(to retention: PairRetention) {
        guard retention != self.retention else { return }
        self.retention = retention
        others = others.filter { retention.keeps($0.key) }
        if rows.contains(where: { !retention.keeps($0.bucket) }) {
            rebuild { [rows] in retention.keeps(rows[$0].bucket) }
        }
    }

    private func sender(of row: Row) -> Int { Int(pairs[Int(row.pair)] >> 32) }

    /// Returns the order in which rows of a sender are removed: by day, then by number of sends, then by age. The lower
    /// half is the number of the row. The rows of a pair for a day and for its hours are equal, so that neither kind of
    /// bucket displaces the other.
    private static func order(of row: Row, _ number: UInt32) -> UInt64 {
        let sends = min(UInt64(row.counts.total), 1 << 11 - 1)
        return UInt64(row.bucket.firstHour / 24) << 43 | sends << 32 | UInt64(number)
    }

    /// Returns the largest number such that the sum stays within the total if no element exceeds the number.
    static func level(of numbers: [Int], total: Int) -> Int {
        var rest = total
        let sorted = numbers.sorted()
        for (index, number) in sorted.enumerated() {
            let share = rest / (sorted.count - index)
            if number > share { return share }
            rest -= number
        }
        return .max
    }
}
