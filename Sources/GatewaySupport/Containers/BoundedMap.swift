/// A dictionary of bounded size with its entries in order of age. A full map evicts its oldest entry.
///
/// Linked lists order the entries: one list of all entries, and one for each owner. A look-up, an insertion and a
/// removal take constant time; a look-up allocates nothing. A value type without a clock or a lock: the code that uses
/// the map expires entries and synchronizes access itself.
///
/// Inlinable, so that the compiler specializes it for the keys and values of other modules.
public struct BoundedMap<Key: OwnedKey, Value> {
    /// A key with its value.
    public struct Entry {
        /// The key.
        public let key: Key
        /// The value.
        public var value: Value
        /// A number that is unique in the history of the map. A newer entry has a higher number.
        @inlinable public var serial: UInt64 { number }
        @usableFromInline var number: UInt64

        @inlinable
        init(key: Key, value: Value, serial: UInt64) {
            self.key = key
            self.value = value
            number = serial
        }
    }

    /// The entries of one owner.
    @usableFromInline
    struct OwnedEntries {
        @usableFromInline var list = IndexLists.List()
        @usableFromInline var count = 0

        @inlinable
        init() {}
    }

    /// The maximum number of entries, at least 1.
    public let capacity: Int
    @usableFromInline var indices: [Key: Int32] = [:]
    @usableFromInline var slots: [Entry?] = []
    @usableFromInline var freeSlots: [Int32] = []
    @usableFromInline var links = IndexLists()
    @usableFromInline var all = IndexLists.List()
    @usableFromInline var ownerLinks = IndexLists()
    @usableFromInline var owners: [Key.Owner: OwnedEntries] = [:]
    @usableFromInline var lastSerial: UInt64 = 0

    /// Creates an empty map. It grows with its entries.
    @inlinable
    public init(capacity: Int) { self.capacity = min(max(1, capacity), Int(Int32.max)) }

    /// The number of entries.
    @inlinable public var count: Int { indices.count }

    /// The number of owners with an entry.
    @inlinable public var ownerCount: Int { owners.count }

    /// Returns the number of entries of one owner.
    @inlinable
    public func count(of owner: Key.Owner) -> Int { owners[owner]?.count ?? 0 }

    /// Returns the value of a key; nil if there is none.
    @inlinable
    public subscript(key: Key) -> Value? { entry(for: key)?.value }

    /// Returns the entry of a key; nil if there is none.
    @inlinable
    public func entry(for key: Key) -> Entry? { indices[key].flatMap { slots[Int($0)] } }

    /// The oldest entry; nil in an empty map.
    @inlinable public var oldest: Entry? { all.isEmpty ? nil : slots[Int(all.first)] }

    /// Returns the oldest entry of one owner that matches; nil if there is none.
    @inlinable
    public func oldest(of owner: Key.Owner, where matches: (Entry) -> Bool = { _ in true }) -> Entry? {
        var index = owners[owner]?.list.first ?? IndexLists.none
        while index != IndexLists.none {
            if let entry = slots[Int(index)], matches(entry) { return entry }
            index = ownerLinks.next(after: index)
        }
        return nil
    }

    /// All entries, in no particular order. The array is a copy; intended for operator commands, not for the request
    /// pipeline.
    @inlinable public var entries: [Entry] { slots.compactMap { $0 } }

    /// Writes the value of a key, whose entry becomes the newest. A new key in a full map evicts the oldest entry.
    ///
    /// - Returns: The serial number of the entry.
    @inlinable
    @discardableResult
    public mutating func insert(_ value: Value, for key: Key) -> UInt64 {
        if update(key, asNewest: true, { $0 = value }) { return lastSerial }
        if count >= capacity { remove(at: all.first) }
        lastSerial += 1
        let entry = Entry(key: key, value: value, serial: lastSerial)
        let index = freeSlots.popLast() ?? Int32(slots.count)
        if Int(index) == slots.count { slots.append(entry) } else { slots[Int(index)] = entry }
        indices[key] = index
        links.append(index, to: &all)
        ownerLinks.append(index, to: &owners[key.owner, default: OwnedEntries()].list)
        owners[key.owner]?.count += 1
        return lastSerial
    }

    /// Changes the value of a key in place. Does nothing if the key has none.
    ///
    /// - Parameter asNewest: Whether the entry becomes the newest, with a new serial number.
    /// - Returns: Whether the key has a value.
    @inlinable
    @discardableResult
    public mutating func update(_ key: Key, asNewest: Bool = false, _ change: (inout Value) -> Void) -> Bool {
        guard let index = indices[key] else { return false }
        slots[Int(index)]?.change(change)
        if asNewest { makeNewest(index, of: key.owner) }
        return true
    }

    /// Returns the value of a key, and protects an entry that is in use from eviction: an entry that is older than
    /// half of a full map becomes the newest.
    @inlinable
    public mutating func refresh(_ key: Key) -> Value? {
        guard let index = indices[key], let entry = slots[Int(index)] else { return nil }
        if lastSerial - entry.serial >= UInt64(capacity / 2) { makeNewest(index, of: key.owner) }
        return entry.value
    }

    /// Removes the entry of a key, if any.
    @inlinable
    public mutating func remove(_ key: Key) {
        if let index = indices[key] { remove(at: index) }
    }

    /// Removes the entries of one owner that match.
    @inlinable
    public mutating func removeAll(of owner: Key.Owner, where matches: (Entry) -> Bool = { _ in true }) {
        var next = owners[owner]?.list.first ?? IndexLists.none
        while next != IndexLists.none {
            let index = next
            next = ownerLinks.next(after: index)
            if let entry = slots[Int(index)], matches(entry) { remove(at: index) }
        }
    }

    /// Removes all entries. Serial numbers are not used again.
    @inlinable
    public mutating func removeAll() {
        let serial = lastSerial
        self = BoundedMap(capacity: capacity)
        lastSerial = serial
    }

    @inlinable
    mutating func makeNewest(_ index: Int32, of owner: Key.Owner) {
        lastSerial += 1
        slots[Int(index)]?.number = lastSerial
        // The newest entry of all is also the newest of its owner.
        guard all.last != index, let owned = owners.index(forKey: owner) else { return }
        links.remove(index, from: &all)
        links.append(index, to: &all)
        ownerLinks.remove(index, from: &owners.values[owned].list)
        ownerLinks.append(index, to: &owners.values[owned].list)
    }

    @inlinable
    mutating func remove(at index: Int32) {
        guard let entry = slots[Int(index)], let owned = owners.index(forKey: entry.key.owner) else { return }
        slots[Int(index)] = nil
        freeSlots.append(index)
        indices[entry.key] = nil
        links.remove(index, from: &all)
        if owners.values[owned].count == 1 {
            owners.remove(at: owned)
        } else {
            ownerLinks.remove(index, from: &owners.values[owned].list)
            owners.values[owned].count -= 1
        }
    }
}

extension BoundedMap.Entry {
    @inlinable
    mutating func change(_ change: (inout Value) -> Void) { change(&value) }
}

extension BoundedMap: Sendable where Key: Sendable, Key.Owner: Sendable, Value: Sendable {}

extension BoundedMap.Entry: Sendable where Key: Sendable, Value: Sendable {}

extension BoundedMap.OwnedEntries: Sendable {}

/// A key of a ``BoundedMap``. The map can find and remove all entries of one owner.
public protocol OwnedKey: Hashable {
    /// The type of the owners.
    associatedtype Owner: Hashable
    /// The owner of the entry, such as the user whom it concerns.
    var owner: Owner { get }
}

/// The owner of all keys of a map that does not distinguish owners.
public enum SoleOwner: Hashable, Sendable {
    /// The only value.
    case everybody
}

extension OwnedKey where Owner == SoleOwner {
    /// The only owner.
    @inlinable public var owner: SoleOwner { .everybody }
}
