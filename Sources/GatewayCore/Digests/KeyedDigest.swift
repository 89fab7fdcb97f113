internal import CLibcrypto

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
        var message: [UInt8] = []
        for part in parts { message.appendUnderLength(part) }
        return digest(of: message)
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

    private func digest(of message: [UInt8]) -> KeyedDigest? {
        hmac?.tag(over: message).flatMap { KeyedDigest(Array($0.prefix(16))) }
    }
}

extension [UInt8] {
    fileprivate mutating func appendUnderLength(_ part: some Collection<UInt8>) {
        Swift.withUnsafeBytes(of: UInt32(part.count).bigEndian) { self += $0 }
        self += part
    }
}
