internal import CLibcrypto

/// Bytes that must not be seen: no printable form, compared in constant time, wiped when the last reference goes.
public struct Secret: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    // @unchecked: `bytes` is written by `init` and `deinit` alone, and both have the only reference.
    private final class Storage: @unchecked Sendable {
        private(set) var bytes: [UInt8]

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        deinit {
            bytes.withUnsafeMutableBytes { OPENSSL_cleanse($0.baseAddress, $0.count) }
        }
    }

    private let storage: Storage

    /// Copies the bytes; what they were copied from is the caller's to wipe.
    public init(_ bytes: some Sequence<UInt8>) {
        storage = Storage(Array(bytes))
    }

    /// The same.
    public init(_ bytes: Span<UInt8>) {
        storage = Storage(bytes.withUnsafeBufferPointer { Array($0) })
    }

    /// How many bytes there are.
    public var count: Int { storage.bytes.count }

    /// Lends the bytes for the time of the closure.
    public func withBytes<Result, Failure: Error>(
        _ body: (borrowing Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The storage must outlive the borrowed array, or wiping would find the array shared and wipe a copy.
        defer { withExtendedLifetime(storage) {} }
        let bytes = storage.bytes
        return try body(bytes.span)
    }

    /// Lends the bytes to C for the time of the closure.
    public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        defer { withExtendedLifetime(storage) {} }
        return storage.bytes.withUnsafeBytes(body)
    }

    /// Whether both hold the same bytes, in a time that depends on their lengths alone.
    public func isEqual(to other: Secret) -> Bool {
        ConstantTime.equal(storage.bytes, other.storage.bytes)
    }

    /// Never the bytes.
    public var description: String { "<secret>" }
    /// Never the bytes.
    public var debugDescription: String { "<secret>" }
    /// Nothing inside, so that `dump` finds nothing either.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
