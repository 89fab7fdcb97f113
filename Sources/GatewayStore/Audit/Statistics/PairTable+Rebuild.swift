extension PairTable {
    /// Removes all pairs and names, and takes those of the given rows instead.
    ///
    /// - Parameter isKept: Returns whether a row, by its number, stays.
    mutating func rebuild(keeping isKept: (Int) -> Bool) {
        let (oldNames, oldPairs) = (names, pairs)
        names = WordTable()
        (pairs, heads) = ([], [])
        // Most pairs usually stay, so the table keeps its size.
        slots = [UInt32](repeating: SegmentIndex.none, count: slots.count)
        var newNames = [UInt32](repeating: SegmentIndex.none, count: oldNames.count)
        var newPairs = [UInt32](repeating: SegmentIndex.none, count: oldPairs.count)
        func renumbered(_ name: UInt32) -> UInt32 {
            guard name != SegmentIndex.none else { return name }
            if newNames[Int(name)] == SegmentIndex.none {
                newNames[Int(name)] = oldNames.text.withUnsafeBytes { text in
                    names.number(of: UnsafeRawBufferPointer(rebasing: text[oldNames.range(of: name)]))
                }
            }
            return newNames[Int(name)]
        }
        var kept = 0
        for number in rows.indices where isKept(number) {
            var row = rows[number]
            let old = Int(row.pair)
            if newPairs[old] == SegmentIndex.none {
                let key = oldPairs[old]
                let sender = renumbered(UInt32(key >> 32))
                newPairs[old] = self.number(
                    ofPair: UInt64(sender) << 32 | UInt64(renumbered(UInt32(truncatingIfNeeded: key))))
            }
            row.pair = newPairs[old]
            row.next = heads[Int(row.pair)]
            heads[Int(row.pair)] = UInt32(kept)
            rows[kept] = row
            kept += 1
        }
        rows.removeLast(rows.count - kept)
        generation += 1
    }
}
