internal import CLibcrypto

/// Secret bytes: without a printable form, compared in constant time, wiped when the last reference is released.
public struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    // One block for reference count, length and bytes.
    private final class Storage: ManagedBuffer<Int, UInt8> {
        static func copy(_ bytes: UnsafeBufferPointer<UInt8>) -> Storage {
            let made = create(minimumCapacity: bytes.count) { _ in bytes.count }
            made.withUnsafeMutablePointerToElements { elements in
                if let start = bytes.baseAddress { elements.initialize(from: start, count: bytes.count) }
            }
            // `create` returns an instance of the class that it is called on.
            return unsafeDowncast(made, to: Storage.self)
        }

        deinit {
            withUnsafeMutablePointers { count, elements in OPENSSL_cleanse(elements, count.pointee) }
        }
    }

    // Only `copy` writes the bytes, before it shares the only reference, and `deinit`, which holds the last.
    private nonisolated(unsafe) let storage: Storage

    /// Copies the bytes. The caller remains responsible for wiping the original.
    public init(_ bytes: some Sequence<UInt8>) {
        self =
            bytes.withContiguousStorageIfAvailable(Self.init(copying:))
            ?? Array(bytes).withUnsafeBufferPointer(Self.init(copying:))
    }

    /// Copies the bytes. The caller remains responsible for wiping the original.
    public init(_ bytes: Span<UInt8>) {
        self = bytes.withUnsafeBufferPointer(Self.init(copying:))
    }

    private init(copying bytes: UnsafeBufferPointer<UInt8>) { storage = Storage.copy(bytes) }

    /// The number of bytes.
    public var count: Int { storage.header }

    /// Calls the closure with the bytes, which are valid only during the call.
    public func withBytes<Result, Failure: Error>(
        _ body: (borrowing Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try storage.withUnsafeMutablePointerToElements { elements throws(Failure) in
            try body(UnsafeBufferPointer(start: elements, count: count).span)
        }
    }

    /// Calls the closure with the bytes, for C functions. The buffer is valid only during the call.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        storage.withUnsafeMutablePointerToElements { body(UnsafeRawBufferPointer(start: $0, count: count)) }
    }

    /// Returns whether both hold the same bytes. The duration depends only on the lengths.
    public func isEqual(to other: Secret) -> Bool {
        guard count == other.count else { return false }
        return withUnsafeBytes { left in
            other.withUnsafeBytes { right in CRYPTO_memcmp(left.baseAddress, right.baseAddress, left.count) == 0 }
        }
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
