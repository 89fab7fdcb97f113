/// A dictionary in order of insertion that evicts the oldest entry when it is full.
///
/// Setting an existing key keeps its position. All operations take amortized O(1) time; removed keys leave gaps in the
/// order, which are compacted when they make up half of it.
///
/// GatewayCore has a similar type, `BoundedMap`. This module does not use it, because the backend imports nothing of
/// the gateway, and because a registration that is updated keeps its position in the list.
struct BoundedTable<Value> {
    private struct Entry {
        var value: Value
        let serial: UInt64
    }

    let capacity: Int
    private var entries: [String: Entry] = [:]
    private var order: [(key: String, serial: UInt64)] = []
    private var firstInOrder = 0
    private var nextSerial: UInt64 = 0

    init(capacity: Int) {
        self.capacity = capacity
    }

    var count: Int { entries.count }

    /// The keys and values, oldest first.
    var elements: [(key: String, value: Value)] {
        order[firstInOrder...].compactMap { place in
            guard let entry = entries[place.key], entry.serial == place.serial else { return nil }
            return (place.key, entry.value)
        }
    }

    subscript(key: String) -> Value? { entries[key]?.value }

    /// Returns the position of the key in the order of insertion, as an increasing number; nil if it is absent.
    func serial(of key: String) -> UInt64? { entries[key]?.serial }

    /// Sets a value. Returns the evicted entry, if any.
    mutating func set(_ value: Value, for key: String) -> (key: String, value: Value)? {
        if entries[key] != nil {
            entries[key]?.value = value
            return nil
        }
        let dropped = entries.count >= capacity ? removeOldest() : nil
        entries[key] = Entry(value: value, serial: nextSerial)
        order.append((key, nextSerial))
        nextSerial += 1
        return dropped
    }

    /// Changes a value in place. Does nothing if the key is absent.
    mutating func update(_ key: String, _ change: (inout Value) -> Void) {
        guard let index = entries.index(forKey: key) else { return }
        change(&entries.values[index].value)
    }

    /// Removes the entry of the key and returns its value; nil if it is absent.
    mutating func remove(_ key: String) -> Value? {
        let removed = entries.removeValue(forKey: key)?.value
        compact()
        return removed
    }

    /// Removes and returns the oldest entry; nil if the table is empty.
    mutating func removeOldest() -> (key: String, value: Value)? {
        while firstInOrder < order.count {
            let place = order[firstInOrder]
            firstInOrder += 1
            guard let entry = entries[place.key], entry.serial == place.serial else { continue }
            entries[place.key] = nil
            compact()
            return (place.key, entry.value)
        }
        return nil
    }

    private mutating func compact() {
        guard order.count > 64, order.count > 2 * entries.count else { return }
        order = order[firstInOrder...].filter { entries[$0.key]?.serial == $0.serial }
        firstInOrder = 0
    }
}
