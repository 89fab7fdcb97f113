internal import CLibcrypto

/// A digest that only the holder of a key can make: 16 bytes of HMAC-SHA256, for what must be recognised but never read.
public struct KeyedDigest: Sendable, Hashable {
    /// The first half and the second, as big-endian numbers: a value that takes no memory of its own.
    private let high: UInt64
    private let low: UInt64

    /// Wraps 16 bytes that a store kept, or nil for another number.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self = bytes.withUnsafeBytes { KeyedDigest(first16Of: $0) }
    }

    /// - Parameter bytes: 16 at least.
    fileprivate init(first16Of bytes: UnsafeRawBufferPointer) {
        high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    /// The 16 bytes.
    public var bytes: [UInt8] { withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Array($0) } }

    /// 32 lower-case hexadecimal digits.
    public var hex: String { String(hexEncoding: bytes) }

    /// Appends the digits.
    package func write(to text: inout ByteWriter) {
        text.append(hexDigitsOf: high)
        text.append(hexDigitsOf: low)
    }
}

/// Makes keyed digests; may be shared between loops.
public final class KeyedDigester: Sendable {
    private let hmac: SharedHMAC?

    /// A digester under a key of at least 32 bytes.
    public init(key: Secret) { hmac = SharedHMAC(.sha256, key: key) }

    /// The digest of the parts, each under its length, so that no two lists of parts are the same bytes.
    ///
    /// Nil where libcrypto fails, which its callers treat as a fault of the gateway.
    public func digest(_ parts: [UInt8]...) -> KeyedDigest? {
        var message: [UInt8] = []
        message.reserveCapacity(parts.reduce(0) { $0 + $1.count + 4 })
        for part in parts { message.appendUnderLength(part) }
        return digest(of: message)
    }

    /// The digest of a text: the same as of its bytes as the one part.
    ///
    /// Nil where libcrypto fails.
    public func digest(ofText text: String) -> KeyedDigest? {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.utf8.count + 4) { room in
            var message = ByteWriter(room)
            withUnsafeBytes(of: UInt32(text.utf8.count).bigEndian) { message.append($0.bindMemory(to: UInt8.self)) }
            message.append(text: text)
            return digest(of: UnsafeRawBufferPointer(room))
        }
    }

    /// The digest of the parts and of a secret behind them, each under its length. No copy of the secret is left behind.
    ///
    /// Nil where libcrypto fails.
    public func digest(_ parts: [UInt8]..., secret: Secret) -> KeyedDigest? {
        var message: [UInt8] = []
        // Never moved while it grows, or the place that it was moved from would keep the secret.
        message.reserveCapacity(parts.reduce(secret.count + 4) { $0 + $1.count + 4 })
        defer { message.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        for part in parts { message.appendUnderLength(part) }
        secret.withUnsafeBytes { message.appendUnderLength($0) }
        return digest(of: message)
    }

    private func digest(of message: [UInt8]) -> KeyedDigest? { message.withUnsafeBytes { digest(of: $0) } }

    private func digest(of message: UnsafeRawBufferPointer) -> KeyedDigest? {
        withUnsafeTemporaryAllocation(byteCount: HMAC.longestTag, alignment: 8) { room in
            guard hmac?.write(tagOver: message, to: room) != nil else { return nil }
            return KeyedDigest(first16Of: UnsafeRawBufferPointer(room))
        }
    }
}

extension [UInt8] {
    fileprivate mutating func appendUnderLength(_ part: some Collection<UInt8>) {
        Swift.withUnsafeBytes(of: UInt32(part.count).bigEndian) { self += $0 }
        self += part
    }
}
