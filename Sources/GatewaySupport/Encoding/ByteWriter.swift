/// A destination that bytes can be appended to.
public protocol ByteSink {
    /// Appends a byte.
    mutating func append(_ byte: UInt8)
    /// Appends bytes unchanged.
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>)
}

extension [UInt8]: ByteSink {
    /// Appends bytes unchanged.
    @inlinable
    public mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) { append(contentsOf: bytes) }
}

/// A writer into a preallocated buffer. Requests, responses and records are serialized with it in one pass, with at
/// most one allocation.
///
/// A writer never writes beyond its buffer. If the buffer is too small, `count` tells the size that is needed, and
/// `[UInt8].init(expecting:_:)` then starts over with a larger one. Input of a peer therefore cannot cause a write out
/// of bounds.
@frozen
public struct ByteWriter: ByteSink {
    @usableFromInline let buffer: UnsafeMutableBufferPointer<UInt8>

    @usableFromInline var written = 0

    /// The number of bytes appended so far, including those that did not fit.
    @inlinable public var count: Int { written }

    /// Creates a writer at the start of the buffer.
    @inlinable
    public init(_ buffer: UnsafeMutableBufferPointer<UInt8>) { self.buffer = buffer }

    /// Whether everything that was appended fitted into the buffer.
    @inlinable
    public var isComplete: Bool { written <= buffer.count }

    /// Advances by the length. Returns where the bytes belong, or nil if they do not fit.
    @inlinable
    @inline(__always)
    mutating func advance(by length: Int) -> UnsafeMutablePointer<UInt8>? {
        let start = written
        written = start &+ length
        guard written <= buffer.count, let base = buffer.baseAddress else { return nil }
        return base + start
    }

    /// Appends a byte.
    @inlinable
    @inline(__always)
    public mutating func append(_ byte: UInt8) {
        if let place = advance(by: 1) { place.pointee = byte }
    }

    /// Appends bytes unchanged.
    @inlinable
    @inline(__always)
    public mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let start = bytes.baseAddress else { return }
        if let place = advance(by: bytes.count) { place.update(from: start, count: bytes.count) }
    }

    /// Appends bytes unchanged.
    @inlinable
    public mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer { append($0) } }

    /// Appends a literal unchanged.
    @inlinable
    @inline(__always)
    public mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends text unchanged. The label keeps literals on the `StaticString` overload, which need not check for
    /// contiguous storage.
    @inlinable
    public mutating func append(text: String) {
        // Only text bridged from outside Swift can lack contiguous storage.
        if text.utf8.withContiguousStorageIfAvailable({ append($0) }) == nil {
            for byte in text.utf8 { append(byte) }
        }
    }

    /// Appends a number in decimal digits.
    public mutating func append(decimal number: UInt64) {
        var rest = number
        var length = 1
        while rest >= 10 {
            rest /= 10
            length += 1
        }
        guard let place = advance(by: length) else { return }
        rest = number
        for index in stride(from: length - 1, through: 0, by: -1) {
            place[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
    }

    /// Appends a number in decimal digits, with a minus sign if it is negative.
    public mutating func append(decimal number: Int) {
        if number < 0 { append(UInt8(ascii: "-")) }
        append(decimal: UInt64(number.magnitude))
    }

    /// Appends the number as 16 lower-case hexadecimal digits.
    public mutating func append(hexDigitsOf number: UInt64) {
        guard let place = advance(by: 16) else { return }
        let digits = number.hexDigits
        UnsafeMutableRawPointer(place).storeBytes(of: digits.high, as: UInt64.self)
        UnsafeMutableRawPointer(place + 8).storeBytes(of: digits.low, as: UInt64.self)
    }
}

extension String {
    /// Creates text from the UTF-8 that `write` appends. `write` runs a second time if the text is longer than
    /// expected.
    ///
    /// - Parameter length: The expected maximum length in bytes.
    package init(expecting length: Int, _ write: (inout ByteWriter) -> Void) {
        var needed = 0
        self.init(unsafeUninitializedCapacity: length) { buffer in
            var writer = ByteWriter(buffer)
            write(&writer)
            needed = writer.count
            return writer.isComplete ? needed : 0
        }
        if utf8.count < needed { self.init(expecting: needed, write) }
    }
}

extension [UInt8] {
    /// Creates an array from the bytes that `write` appends. `write` runs a second time if there are more than
    /// expected.
    ///
    /// - Parameter length: The expected maximum number of bytes.
    @inlinable
    public init(expecting length: Int, _ write: (inout ByteWriter) -> Void) {
        self.init()
        // The temporary buffer is on the stack unless it is large; the array is then allocated with the exact length.
        let needed = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length) { buffer in
            var writer = ByteWriter(buffer)
            write(&writer)
            if writer.isComplete { append(contentsOf: UnsafeBufferPointer(rebasing: buffer[..<writer.count])) }
            return writer.count
        }
        if needed > length { self.init(expecting: needed, write) }
    }
}
