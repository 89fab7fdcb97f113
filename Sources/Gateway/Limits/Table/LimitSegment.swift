/// A small hash table, one of many in a `LimitTable`. Growing or sweeping it is a short operation because it is small.
///
/// Uses open addressing with linear probing. Entries are removed only by rewriting the whole segment. The parameter
/// `position` is the hash of the key (`LimitKey.position`).
struct LimitSegment: Sendable {
    struct Slot: Sendable {
        var key: LimitKey
        /// The theoretical arrival time (see `GCRA`).
        var theoreticalArrival: Int64
    }

    /// The slots, used and free. Their number is a power of two, or zero; `count` is the number of used ones.
    private var slots: [Slot] = []
    private(set) var count = 0

    /// Creates an empty segment with slots for so many keys.
    init(expecting keys: Int = 0) {
        guard keys > 0 else { return }
        var size = 8
        while keys * 4 > size * 3 { size *= 2 }
        slots = Array(repeating: Slot(key: LimitKey(limit: 0), theoreticalArrival: 0), count: size)
    }

    /// Returns the theoretical arrival time of a key.
    func theoreticalArrival(of key: LimitKey, at position: UInt64) -> Int64? {
        index(of: key, at: position).map { slots[$0].theoreticalArrival }
    }

    /// Replaces the time of an existing key. Returns false if the key does not exist.
    mutating func replace(_ theoreticalArrival: Int64, for key: LimitKey, at position: UInt64) -> Bool {
        guard let index = index(of: key, at: position) else { return false }
        slots[index].theoreticalArrival = theoreticalArrival
        return true
    }

    /// Adds a key that does not exist yet.
    mutating func insert(_ theoreticalArrival: Int64, for key: LimitKey, at position: UInt64) {
        if (count + 1) * 4 > slots.count * 3 { rewrite(size: max(8, slots.count * 2)) { _ in true } }
        insert(Slot(key: key, theoreticalArrival: theoreticalArrival), at: position)
    }

    /// Adds an amount to the number of a key, or adds the key unless there are `capacity` keys. For segments whose numbers are
    /// debts.
    mutating func add(_ debt: Int64, for key: LimitKey, at position: UInt64, capacity: Int) {
        if let index = index(of: key, at: position) {
            slots[index].theoreticalArrival = slots[index].theoreticalArrival.addingDebt(debt)
        } else if count < capacity {
            insert(debt, for: key, at: position)
        }
    }

    /// The used slots, in no particular order.
    var used: [Slot] { slots.filter { $0.key.limit != 0 } }

    /// Removes the entries for which the closure returns false, and returns the number of removed entries. The closure
    /// may correct an entry's time.
    mutating func keep(_ isKept: (inout Slot) -> Bool) -> Int {
        var kept = 0
        for index in slots.indices where slots[index].key.limit != 0 {
            // Marks the removed entry with a time that no clock reading produces.
            if isKept(&slots[index]) { kept += 1 } else { slots[index].theoreticalArrival = .min }
        }
        let removed = count - kept
        guard removed > 0 else { return 0 }
        var size = 8
        while kept * 4 > size * 2 { size *= 2 }
        rewrite(size: kept == 0 ? 0 : size) { $0.theoreticalArrival != .min }
        return removed
    }

    private mutating func rewrite(size: Int, _ isKept: (Slot) -> Bool) {
        let old = slots
        slots = Array(repeating: Slot(key: LimitKey(limit: 0), theoreticalArrival: 0), count: size)
        count = 0
        for slot in old where slot.key.limit != 0 && isKept(slot) { insert(slot, at: slot.key.position) }
    }

    private mutating func insert(_ slot: Slot, at position: UInt64) {
        var index = Int(truncatingIfNeeded: position) & (slots.count - 1)
        while slots[index].key.limit != 0 { index = (index + 1) & (slots.count - 1) }
        slots[index] = slot
        count += 1
    }

    private func index(of key: LimitKey, at position: UInt64) -> Int? {
        guard !slots.isEmpty else { return nil }
        var index = Int(truncatingIfNeeded: position) & (slots.count - 1)
        // At most three quarters of the slots are used, so that the search terminates.
        while slots[index].key.limit != 0 {
            if slots[index].key == key { return index }
            index = (index + 1) & (slots.count - 1)
        }
        return nil
    }
}
