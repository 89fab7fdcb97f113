internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// HMAC under one key for all threads at once.
///
/// A context of libcrypto is scratch space for one thread at a time. Each thread begins its search at a context of its own,
/// so that event loops neither wait for each other nor share a cache line.
public final class SharedHMAC: Sendable {
    private final class Slot: Sendable {
        let hmac: Mutex<HMAC>

        init(_ hmac: sending HMAC) { self.hmac = Mutex(hmac) }
    }

    private static let slotCount = 8
    private let slots: [Slot]

    /// Contexts for the key, or nil where libcrypto refuses.
    public init?(_ algorithm: HMAC.Algorithm, key: Secret) {
        var slots: [Slot] = []
        for _ in 0..<Self.slotCount {
            guard let hmac = HMAC(algorithm, key: key) else { return nil }
            slots.append(Slot(hmac))
        }
        self.slots = slots
    }

    /// The tag over the bytes, or nil where libcrypto fails.
    public func tag(over bytes: [UInt8]) -> [UInt8]? {
        // A thread's handle is the address of its stack's end, and stacks lie whole pages apart.
        let first = Int(bitPattern: UInt(pthread_self() >> 12)) & (Self.slotCount - 1)
        for step in 0..<Self.slotCount {
            let slot = slots[(first + step) & (Self.slotCount - 1)]
            if let tag = slot.hmac.withLockIfAvailable({ $0.tag(over: bytes) }) { return tag }
        }
        // All are in use: wait for the own one, which takes less than a microsecond.
        return slots[first].hmac.withLock { $0.tag(over: bytes) }
    }
}
