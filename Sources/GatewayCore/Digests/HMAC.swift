internal import CLibcrypto

/// HMAC (RFC 2104) with SHA-2 by the system's libcrypto, keyed once and used often.
///
/// Not `Sendable`: a context is scratch space. Give each loop or thread its own.
public final class HMAC {
    /// The hash under the HMAC.
    public enum Algorithm: String, Sendable, CaseIterable {
        /// 32 bytes.
        case sha256
        /// 48 bytes.
        case sha384
        /// 64 bytes.
        case sha512

        /// The length of a tag, and the least length of a sensible key, in bytes.
        public var byteCount: Int {
            switch self {
            case .sha256: 32
            case .sha384: 48
            case .sha512: 64
            }
        }
    }

    /// The hash in use.
    public let algorithm: Algorithm
    private let context: OpaquePointer

    /// A context for one key, or nil where libcrypto refuses (out of memory, or a policy that forbids the algorithm).
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

    /// The tag over the parts, one after another, or nil where libcrypto fails.
    public func tag(over parts: [UInt8]...) -> [UInt8]? {
        // No key and no parameters: starts anew under the key that is set.
        guard EVP_MAC_init(context, nil, 0, nil) == 1 else { return nil }
        for part in parts {
            let updated = part.withUnsafeBytes { bytes in
                EVP_MAC_update(context, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count)
            }
            guard updated == 1 else { return nil }
        }
        var written = 0
        var tag = [UInt8](repeating: 0, count: algorithm.byteCount)
        let finished = tag.withUnsafeMutableBufferPointer { buffer in
            EVP_MAC_final(context, buffer.baseAddress, &written, buffer.count)
        }
        return finished == 1 && written == tag.count ? tag : nil
    }
}
