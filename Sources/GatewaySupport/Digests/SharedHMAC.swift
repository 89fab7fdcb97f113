internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// HMAC under one key, for use by all threads concurrently.
///
/// A libcrypto context serves one thread at a time, so there are several. Each thread starts its search at a different
/// context, so that event loops neither wait for each other nor share a cache line.
public final class SharedHMAC: Sendable {
    private final class Slot: Sendable {
        let hmac: Mutex<HMAC>

        init(_ hmac: sending HMAC) { self.hmac = Mutex(hmac) }
    }

    // @unchecked: libcrypto accesses the buffers only while the context is locked, on the calling thread, and keeps
    // neither.
    private struct Lent: @unchecked Sendable {
        let bytes: UnsafeRawBufferPointer
        let room: UnsafeMutableRawBufferPointer
    }

    private static let slotCount = 8
    private let slots: [Slot]

    /// Creates the contexts for the key; returns nil if libcrypto fails.
    public init?(_ algorithm: HMAC.Algorithm, key: Secret) {
        var slots: [Slot] = []
        for _ in 0..<Self.slotCount {
            guard let hmac = HMAC(algorithm, key: key) else { return nil }
            slots.append(Slot(hmac))
        }
        self.slots = slots
    }

    /// Returns the tag over the bytes, or nil if libcrypto fails.
    public func tag(over bytes: [UInt8]) -> [UInt8]? {
        var tag = [UInt8](repeating: 0, count: HMAC.longestTag)
        let written = tag.withUnsafeMutableBytes { room in bytes.withUnsafeBytes { write(tagOver: $0, to: room) } }
        guard let written else { return nil }
        tag.removeLast(tag.count - written)
        return tag
    }

    /// Writes the tag over the bytes and returns its length, or nil if libcrypto fails.
    ///
    /// - Parameter room: A buffer of at least `HMAC.longestTag` bytes.
    func write(tagOver bytes: UnsafeRawBufferPointer, to room: UnsafeMutableRawBufferPointer) -> Int? {
        let lent = Lent(bytes: bytes, room: room)
        // A thread's handle is an address in its stack, and stacks are at least one page apart.
        let first = Int(bitPattern: UInt(pthread_self() >> 12)) & (Self.slotCount - 1)
        for step in 0..<Self.slotCount {
            let slot = slots[(first + step) & (Self.slotCount - 1)]
            if let tag = slot.hmac.withLockIfAvailable({ $0.write(tagOver: lent.bytes, to: lent.room) }) { return tag }
        }
        // All contexts are in use. Wait for the thread's own, which is held for less than a microsecond.
        return slots[first].hmac.withLock { $0.write(tagOver: lent.bytes, to: lent.room) }
    }
}
