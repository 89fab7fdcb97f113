internal import CLibcrypto

/// Secret bytes: without a printable form, compared in constant time, wiped when the last reference is released.
public struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    // @unchecked: only `init` and `deinit` write `bytes`, and both hold the only reference.
    private final class Storage: @unchecked Sendable {
        private(set) var bytes: [UInt8]

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        deinit {
            bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
        }
    }

    private let storage: Storage

    /// Copies the bytes. The caller remains responsible for wiping the original.
    public init(_ bytes: some Sequence<UInt8>) {
        storage = Storage(Array(bytes))
    }

    /// Copies the bytes. The caller remains responsible for wiping the original.
    public init(_ bytes: Span<UInt8>) {
        storage = Storage(bytes.withUnsafeBufferPointer { Array($0) })
    }

    /// The number of bytes.
    public var count: Int { storage.bytes.count }

    /// Calls the closure with the bytes, which are valid only during the call.
    public func withBytes<Result, Failure: Error>(
        _ body: (borrowing Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The storage must outlive the borrowed array; otherwise `deinit` would find the array shared and wipe a copy.
        defer { withExtendedLifetime(storage) {} }
        let bytes = storage.bytes
        return try body(bytes.span)
    }

    /// Calls the closure with the bytes, for C functions. The buffer is valid only during the call.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        defer { withExtendedLifetime(storage) {} }
        return storage.bytes.withUnsafeBytes(body)
    }

    /// Returns whether both hold the same bytes. The duration depends only on the lengths.
    public func isEqual(to other: Secret) -> Bool {
        ConstantTime.equal(storage.bytes, other.storage.bytes)
    }

    /// A constant text, never the bytes.
    public var description: String { "<secret>" }
    /// A constant text, never the bytes.
    public var debugDescription: String { "<secret>" }
    /// A mirror without children, so that `dump` prints no bytes either.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Comparison whose duration does not depend on the compared bytes.
public enum ConstantTime {
    /// Returns whether both hold the same bytes. The duration depends only on the lengths.
    public static func equal(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        guard left.count == right.count else { return false }
        return left.withUnsafeBytes { left in
            right.withUnsafeBytes { right in CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0 }
        }
    }
}
