internal import CLibcrypto
internal import Synchronization

/// HMAC (RFC 2104) with SHA-2 by the system's libcrypto. The key is set once and used for many tags.
///
/// The reason for a context that is kept: over the 260 bytes of a token it makes a tag in 0.34 µs. libcrypto's single
/// call `HMAC()`, which looks up the algorithm and hashes the key each time, takes 1.3 µs (OpenSSL 3.0.19, CPU time of
/// one thread of an AMD EPYC processor, 2026-11-23). Each token that is verified in full needs one tag, each message
/// one keyed digest.
///
/// Not `Sendable`, because the context is mutable state. Each loop or thread needs its own; see `SharedHMAC`.
public final class HMAC {
    /// The hash function of the HMAC.
    public enum Algorithm: String, Sendable, CaseIterable {
        /// SHA-256: 32 bytes.
        case sha256
        /// SHA-384: 48 bytes.
        case sha384
        /// SHA-512: 64 bytes.
        case sha512

        /// The length of a tag in bytes, which is also the minimum recommended length of a key.
        public var byteCount: Int {
            switch self {
            case .sha256: 32
            case .sha384: 48
            case .sha512: 64
            }
        }
    }

    /// The hash function in use.
    public let algorithm: Algorithm
    private let context: OpaquePointer

    /// Creates a context for one key; returns nil if libcrypto fails (out of memory, or a policy that forbids the
    /// algorithm).
    public init?(_ algorithm: Algorithm, key: Secret) {
        let made = key.withUnsafeBytes { bytes in
            notify_gateway_hmac_context(
                algorithm.rawValue, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
        guard let made else { return nil }
        self.algorithm = algorithm
        self.context = made
    }

    deinit { EVP_MAC_CTX_free(context) }

    /// The length of the longest tag of all algorithms, in bytes.
    static let longestTag = 64

    /// Returns the tag over the concatenated parts, or nil if libcrypto fails. Tests and fuzzers compute with it the
    /// tags that `SharedHMAC`, which the gateway uses, has to accept and produce.
    public func tag(over parts: [UInt8]...) -> [UInt8]? {
        var tag = [UInt8](repeating: 0, count: algorithm.byteCount)
        let written = tag.withUnsafeMutableBytes { buffer in
            restart() && parts.allSatisfy(update) ? finalize(buffer) : nil
        }
        return written == tag.count ? tag : nil
    }

    /// Writes the tag over the bytes and returns its length, or nil if libcrypto fails.
    ///
    /// - Parameter buffer: A buffer of at least `longestTag` bytes.
    func write(tagOver bytes: UnsafeRawBufferPointer, to buffer: UnsafeMutableRawBufferPointer) -> Int? {
        restart() && update(bytes) ? finalize(buffer) : nil
    }

    // Without a key and parameters, `EVP_MAC_init` restarts under the key that is set.
    private func restart() -> Bool { EVP_MAC_init(context, nil, 0, nil) == 1 }

    private func update(_ part: [UInt8]) -> Bool { part.withUnsafeBytes { update($0) } }

    private func update(_ part: UnsafeRawBufferPointer) -> Bool {
        EVP_MAC_update(context, part.baseAddress?.assumingMemoryBound(to: UInt8.self), part.count) == 1
    }

    private func finalize(_ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        var written = 0
        let done = EVP_MAC_final(
            context, buffer.baseAddress?.assumingMemoryBound(to: UInt8.self), &written, buffer.count)
        return done == 1 && written == algorithm.byteCount ? written : nil
    }
}

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
    private struct UncheckedBuffers: @unchecked Sendable {
        let bytes: UnsafeRawBufferPointer
        let buffer: UnsafeMutableRawBufferPointer
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
        let written = tag.withUnsafeMutableBytes { buffer in bytes.withUnsafeBytes { write(tagOver: $0, to: buffer) } }
        guard let written else { return nil }
        tag.removeLast(tag.count - written)
        return tag
    }

    /// Writes the tag over the bytes and returns its length, or nil if libcrypto fails.
    ///
    /// - Parameter buffer: A buffer of at least `HMAC.longestTag` bytes.
    func write(tagOver bytes: UnsafeRawBufferPointer, to buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let buffers = UncheckedBuffers(bytes: bytes, buffer: buffer)
        let first = ThreadNumber.current & (Self.slotCount - 1)
        for step in 0..<Self.slotCount {
            let slot = slots[(first + step) & (Self.slotCount - 1)]
            if let tag = slot.hmac.withLockIfAvailable({ $0.write(tagOver: buffers.bytes, to: buffers.buffer) }) {
                return tag
            }
        }
        // All contexts are in use. Wait for the thread's own, which is held for less than a microsecond.
        return slots[first].hmac.withLock { $0.write(tagOver: buffers.bytes, to: buffers.buffer) }
    }
}
