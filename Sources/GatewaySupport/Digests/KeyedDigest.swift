internal import CLibcrypto

/// A digest that only the holder of a key can compute: the first 16 bytes of HMAC-SHA256. It identifies data without
/// revealing them.
public struct KeyedDigest: Sendable, Hashable {
    /// The two halves as big-endian numbers, so that the value needs no heap memory.
    private let high: UInt64
    private let low: UInt64

    /// Creates a digest from 16 stored bytes; returns nil for another length.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self = bytes.withUnsafeBytes { KeyedDigest(first16Of: $0) }
    }

    /// Creates a digest from 32 hexadecimal digits; returns nil for another text.
    package init?(hexDigits text: some Collection<UInt8>) {
        guard text.count == 32 else { return nil }
        var halves: (UInt64, UInt64) = (0, 0)
        for digit in text {
            guard let value = digit.hexDigitValue else { return nil }
            halves = (halves.0 << 4 | halves.1 >> 60, halves.1 << 4 | UInt64(value))
        }
        (high, low) = halves
    }

    /// - Parameter bytes: At least 16 bytes.
    fileprivate init(first16Of bytes: UnsafeRawBufferPointer) {
        high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    /// The 16 bytes.
    public var bytes: [UInt8] { withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { Array($0) } }

    /// Appends the digest as 32 lower-case hexadecimal digits.
    package func write(to text: inout ByteWriter) {
        text.append(hexDigitsOf: high)
        text.append(hexDigitsOf: low)
    }
}

/// A factory of keyed digests under one key. Event loops may share it.
public final class KeyedDigester: Sendable {
    private let hmac: SharedHMAC?

    /// Creates a factory. The key should have at least 32 bytes.
    public init(key: Secret) { hmac = SharedHMAC(.sha256, key: key) }

    /// Returns the digest of the parts. Each part is preceded by its length, so that different lists of parts never
    /// produce the same input.
    ///
    /// Returns nil if libcrypto fails, which callers treat as an internal error.
    public func digest(_ parts: [UInt8]...) -> KeyedDigest? {
        var message: [UInt8] = []
        message.reserveCapacity(parts.reduce(0) { $0 + $1.count + 4 })
        for part in parts { message.appendUnderLength(part) }
        return digest(of: message)
    }

    /// Returns the digest of two texts, equal to the digest of their UTF-8 bytes as the only parts.
    ///
    /// Returns nil if libcrypto fails.
    public func digest(ofTexts first: String, _ second: String) -> KeyedDigest? {
        withUnsafeTemporaryAllocation(
            of: UInt8.self, capacity: first.utf8.count + second.utf8.count + 8
        ) { buffer in
            var message = ByteWriter(buffer)
            message.appendUnderLength(first)
            message.appendUnderLength(second)
            return digest(of: UnsafeRawBufferPointer(buffer))
        }
    }

    /// Returns the digest of the parts followed by a secret, each preceded by its length. No copy of the secret remains
    /// in memory.
    ///
    /// Returns nil if libcrypto fails.
    public func digest(_ parts: [UInt8]..., secret: Secret) -> KeyedDigest? {
        var message: [UInt8] = []
        // The full capacity is reserved first: a reallocation would leave a copy of the secret behind.
        message.reserveCapacity(parts.reduce(secret.count + 4) { $0 + $1.count + 4 })
        defer { message.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) } }
        for part in parts { message.appendUnderLength(part) }
        secret.withUnsafeBytes { message.appendUnderLength($0) }
        return digest(of: message)
    }

    private func digest(of message: [UInt8]) -> KeyedDigest? { message.withUnsafeBytes { digest(of: $0) } }

    private func digest(of message: UnsafeRawBufferPointer) -> KeyedDigest? {
        withUnsafeTemporaryAllocation(byteCount: HMAC.longestTag, alignment: 8) { buffer in
            guard hmac?.write(tagOver: message, to: buffer) != nil else { return nil }
            return KeyedDigest(first16Of: UnsafeRawBufferPointer(buffer))
        }
    }
}

extension [UInt8] {
    fileprivate mutating func appendUnderLength(_ part: some Collection<UInt8>) {
        Swift.withUnsafeBytes(of: UInt32(part.count).bigEndian) { self += $0 }
        self += part
    }
}

extension ByteWriter {
    fileprivate mutating func appendUnderLength(_ text: String) {
        withUnsafeBytes(of: UInt32(text.utf8.count).bigEndian) { append($0.bindMemory(to: UInt8.self)) }
        append(text: text)
    }
}
