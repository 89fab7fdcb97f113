internal import Glibc

/// The distinct words of a segment, numbered in the order of their appearance. An open-addressing hash table with a
/// seed that is random in each process, because users choose some of the words.
struct WordTable {
    private(set) var text: [UInt8] = []
    private var ends: [UInt32] = []
    private var slots = [UInt32](repeating: SegmentIndex.none, count: 256)
    private static let seed = UInt64.random(in: .min ... .max)

    /// Returns the number of the word; adds it if it is new.
    mutating func number(of word: UnsafeRawBufferPointer) -> UInt32 {
        let slot = slot(of: word)
        if slots[slot] != SegmentIndex.none { return slots[slot] }
        let number = UInt32(ends.count)
        text.append(contentsOf: word)
        ends.append(UInt32(text.count))
        slots[slot] = number
        if ends.count * 2 > slots.count { grow() }
        return number
    }

    /// Returns the number of a word that another table has; adds it if it is new.
    mutating func number(of word: UInt32, in other: WordTable) -> UInt32 {
        other.text.withUnsafeBytes { number(of: UnsafeRawBufferPointer(rebasing: $0[other.range(of: word)])) }
    }

    /// Returns the number of the word; nil if the table lacks it.
    func find(_ word: StaticString) -> UInt32? {
        find(UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    /// Returns the number of the word; nil if the table lacks it.
    func find(_ word: UnsafeRawBufferPointer) -> UInt32? {
        let number = slots[slot(of: word)]
        return number == SegmentIndex.none ? nil : number
    }

    /// The range of a word's text.
    func range(of number: UInt32) -> Range<Int> {
        (number == 0 ? 0 : Int(ends[Int(number) - 1]))..<Int(ends[Int(number)])
    }

    /// The number of words.
    var count: Int { ends.count }

    /// Whether ``enlarge()`` should precede the next two words, because the table is so large that its enlargement takes
    /// longer than a millisecond.
    var needsEnlargement: Bool {
        ends.count >= 1 << 16
            && (ends.count + 2 > ends.capacity || (ends.count + 2) * 2 > slots.count
                || text.count + 4096 > text.capacity)
    }

    /// Makes room for as many words as the table has.
    mutating func enlarge() {
        ends.reserveCapacity(ends.count * 2)
        text.reserveCapacity(text.count * 2)
        if (ends.count + 2) * 2 > slots.count { grow() }
    }

    /// Returns the words in ascending order of their hashes, and of their texts if hashes are equal.
    func sortedByHash() -> [(hash: UInt32, number: UInt32)] {
        text.withUnsafeBytes { text in
            let hashed = (0..<UInt32(ends.count)).map { number in
                (
                    hash: SegmentIndex.hash(of: UnsafeRawBufferPointer(rebasing: text[range(of: number)])),
                    number: number
                )
            }
            return hashed.sorted { left, right in
                left.hash != right.hash
                    ? left.hash < right.hash
                    : text[range(of: left.number)].lexicographicallyPrecedes(text[range(of: right.number)])
            }
        }
    }

    private func slot(of word: UnsafeRawBufferPointer) -> Int {
        var hash = Self.seed ^ UInt64(word.count)
        var rest = word.count
        while rest >= 8 {
            rest -= 8
            hash = (hash ^ word.loadUnaligned(fromByteOffset: rest, as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15
            hash ^= hash >> 32
        }
        for byte in word.prefix(rest) { hash = (hash ^ UInt64(byte)) &* 0x9E37_79B9_7F4A_7C15 }
        // Each bit of the slot depends on every bit of the word.
        hash = (hash ^ (hash >> 33)) &* 0xC4CE_B9FE_1A85_EC53
        hash ^= hash >> 32
        var slot = Int(truncatingIfNeeded: hash) & (slots.count - 1)
        text.withUnsafeBytes { text in
            while slots[slot] != SegmentIndex.none {
                let known = UnsafeRawBufferPointer(rebasing: text[range(of: slots[slot])])
                if known.count == word.count {
                    guard let start = known.baseAddress, let other = word.baseAddress else { return }
                    if memcmp(start, other, word.count) == 0 { return }
                }
                slot = (slot + 1) & (slots.count - 1)
            }
        }
        return slot
    }

    private mutating func grow() {
        slots = [UInt32](repeating: SegmentIndex.none, count: slots.count * 2)
        for number in 0..<UInt32(ends.count) {
            let slot = text.withUnsafeBytes { text in
                self.slot(of: UnsafeRawBufferPointer(rebasing: text[range(of: number)]))
            }
            slots[slot] = number
        }
    }
}
