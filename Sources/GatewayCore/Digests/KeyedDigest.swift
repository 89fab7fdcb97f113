/// A digest that only the holder of a key can make: 16 bytes of HMAC-SHA256, for what must be recognised but never read.
public struct KeyedDigest: Sendable, Hashable {
    /// 16 bytes.
    public let bytes: [UInt8]

    /// Wraps 16 bytes that a store kept, or nil for another number.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 16 else { return nil }
        self.bytes = bytes
    }

    /// 32 lower-case hexadecimal digits.
    public var hex: String { String(hexEncoding: bytes) }
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
        guard let hmac else { return nil }
        var message: [UInt8] = []
        for part in parts {
            withUnsafeBytes(of: UInt32(part.count).bigEndian) { message += $0 }
            message += part
        }
        return hmac.tag(over: message).flatMap { KeyedDigest(Array($0.prefix(16))) }
    }
}
