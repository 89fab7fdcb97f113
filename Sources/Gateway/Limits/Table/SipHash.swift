/// SipHash-1-3 over words of 64 bits: a keyed digest for tables and for keys that nodes share.
///
/// Unlike `Hasher`, it gives the same digests in every process with the same key. A text is extended by its length to
/// whole words, so no two sequences of texts and words have the same input.
struct SipHash: Sendable {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64

    /// Creates the state of an empty input.
    init(key: (UInt64, UInt64)) {
        v0 = key.0 ^ 0x736f_6d65_7073_6575
        v1 = key.1 ^ 0x646f_7261_6e64_6f6d
        v2 = key.0 ^ 0x6c79_6765_6e65_7261
        v3 = key.1 ^ 0x7465_6462_7974_6573
    }

    /// Appends a word.
    @inline(__always) mutating func combine(_ word: UInt64) {
        v3 ^= word
        round()
        v0 ^= word
    }

    /// Appends a text.
    @inline(__always) mutating func combine(_ text: String) {
        if text.utf8.withContiguousStorageIfAvailable({ combine(UnsafeRawBufferPointer($0)) }) == nil {
            Array(text.utf8).withUnsafeBytes { combine($0) }
        }
    }

    private mutating func combine(_ bytes: UnsafeRawBufferPointer) {
        var index = 0
        while index + 8 <= bytes.count {
            combine(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)))
            index += 8
        }
        var last = UInt64(truncatingIfNeeded: bytes.count) << 56
        var shift: UInt64 = 0
        while index < bytes.count {
            last |= UInt64(bytes[index]) << shift
            shift += 8
            index += 1
        }
        combine(last)
    }

    /// Returns the digest of the input.
    @inline(__always) consuming func finalize() -> UInt64 {
        v2 ^= 0xff
        round()
        round()
        round()
        return v0 ^ v1 ^ v2 ^ v3
    }

    @inline(__always) private mutating func round() {
        v0 = v0 &+ v1
        v1 = rotate(v1, 13) ^ v0
        v0 = rotate(v0, 32)
        v2 = v2 &+ v3
        v3 = rotate(v3, 16) ^ v2
        v0 = v0 &+ v3
        v3 = rotate(v3, 21) ^ v0
        v2 = v2 &+ v1
        v1 = rotate(v1, 17) ^ v2
        v2 = rotate(v2, 32)
    }

    @inline(__always) private func rotate(_ word: UInt64, _ count: UInt64) -> UInt64 {
        word << count | word >> (64 - count)
    }
}
