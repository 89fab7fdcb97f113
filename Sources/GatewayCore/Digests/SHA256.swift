internal import CLibcrypto

/// SHA-256 (FIPS 180-4) by the system's libcrypto.
public enum SHA256 {
    /// The length of a digest in bytes.
    public static let byteCount = 32

    /// Looked up once: by `EVP_sha256()` libcrypto would look it up again, under locks, for each digest. Never written to again and
    /// never freed, so that any thread may use it.
    nonisolated(unsafe) private static let algorithm: OpaquePointer? =
        EVP_MD_fetch(nil, "SHA256", nil) ?? EVP_sha256()

    /// A digest, as a value that takes no memory of its own.
    public struct Digest: Sendable, Hashable {
        /// As they lie in memory.
        private let words: Words
        private typealias Words = (UInt64, UInt64, UInt64, UInt64)

        /// 32 zero bytes: what stands in the place of a digest where there is none.
        public static let zero = Digest(words: (0, 0, 0, 0))

        private init(words: Words) { self.words = words }

        /// Of the bytes, or nil where libcrypto fails.
        public init?(of bytes: UnsafeRawBufferPointer) {
            var words: Words = (0, 0, 0, 0)
            var written: UInt32 = 0
            let done = withUnsafeMutableBytes(of: &words) { room in
                EVP_Digest(
                    bytes.baseAddress, bytes.count, room.baseAddress?.assumingMemoryBound(to: UInt8.self), &written,
                    algorithm, nil)
            }
            guard done == 1, written == UInt32(byteCount) else { return nil }
            self.words = words
        }

        /// A digest that was kept as its 32 bytes; nil where they are not as many.
        package init?(_ bytes: [UInt8]) {
            guard bytes.count == byteCount else { return nil }
            var words: Words = (0, 0, 0, 0)
            withUnsafeMutableBytes(of: &words) { $0.copyBytes(from: bytes) }
            self.words = words
        }

        /// The 32 bytes.
        public var bytes: [UInt8] { withUnsafeBytes(of: words) { Array($0) } }

        /// 64 lower-case hexadecimal digits.
        package var hexDigits: [UInt8] { [UInt8](expecting: 2 * byteCount) { write(to: &$0) } }

        /// Appends 64 lower-case hexadecimal digits.
        package func write(to text: inout ByteWriter) {
            text.append(hexDigitsOf: words.0.bigEndian)
            text.append(hexDigitsOf: words.1.bigEndian)
            text.append(hexDigitsOf: words.2.bigEndian)
            text.append(hexDigitsOf: words.3.bigEndian)
        }

        /// Whether all 32 bytes are the same.
        public static func == (left: Digest, right: Digest) -> Bool { left.words == right.words }

        /// By a part, of which nobody can choose what it is.
        public func hash(into hasher: inout Hasher) { hasher.combine(words.0) }
    }

    /// The digest of the bytes, or nil where libcrypto fails.
    public static func digest(_ bytes: [UInt8]) -> [UInt8]? {
        bytes.withUnsafeBytes { digest($0) }
    }

    /// The digest of the bytes, or nil where libcrypto fails.
    public static func digest(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? { Digest(of: bytes)?.bytes }
}
