/// What bytes can be appended to.
public protocol ByteSink {
    /// Appends a byte.
    mutating func append(_ byte: UInt8)
    /// Appends bytes as they are.
    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>)
}

extension [UInt8]: ByteSink {
    /// Appends bytes as they are.
    @inlinable
    public mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) { append(contentsOf: bytes) }
}

/// Writes bytes one piece after the other into room that is there already: what the gateway sends and records is put together by
/// it in one pass, with one allocation at the most.
///
/// Where the room is too small nothing is written beyond it, and `count` says how much is needed: `[UInt8].init(expecting:_:)`
/// then writes anew. So nothing that a peer sends can write outside of the room.
@frozen
public struct ByteWriter: ByteSink {
    @usableFromInline let room: UnsafeMutableBufferPointer<UInt8>

    @usableFromInline var written = 0

    /// How many bytes were written, or would have been, had there been room.
    @inlinable public var count: Int { written }

    /// A writer that begins at the start of the room.
    @inlinable
    public init(_ room: UnsafeMutableBufferPointer<UInt8>) { self.room = room }

    /// Whether there was room for all that was written.
    @inlinable
    public var isComplete: Bool { written <= room.count }

    /// Moves on by so many bytes; where they have to be put, or nil where there is no room for them.
    @inlinable
    @inline(__always)
    mutating func advance(by length: Int) -> UnsafeMutablePointer<UInt8>? {
        let start = written
        written = start &+ length
        guard written <= room.count, let base = room.baseAddress else { return nil }
        return base + start
    }

    /// Appends a byte.
    @inlinable
    @inline(__always)
    public mutating func append(_ byte: UInt8) {
        if let place = advance(by: 1) { place.pointee = byte }
    }

    /// Appends bytes as they are.
    @inlinable
    @inline(__always)
    public mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let start = bytes.baseAddress else { return }
        if let place = advance(by: bytes.count) { place.update(from: start, count: bytes.count) }
    }

    /// Appends bytes as they are.
    @inlinable
    public mutating func append(_ bytes: [UInt8]) { bytes.withUnsafeBufferPointer { append($0) } }

    /// Appends text of ours as it is.
    @inlinable
    @inline(__always)
    public mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends text as it is. Labelled, so that a literal is never taken for one: those take no look at how they lie in memory.
    @inlinable
    public mutating func append(text: String) {
        // As it lies in memory; only text from elsewhere than this program could lie otherwise.
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

    /// Appends a number in decimal digits, with a sign where it is negative.
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
    /// The text that `write` writes, in UTF-8, which is run a second time where it is longer than was expected.
    ///
    /// - Parameter length: how many bytes there will be at the most, nearly always.
    package init(expecting length: Int, _ write: (inout ByteWriter) -> Void) {
        var needed = 0
        self.init(unsafeUninitializedCapacity: length) { room in
            var writer = ByteWriter(room)
            write(&writer)
            needed = writer.count
            return writer.isComplete ? needed : 0
        }
        if utf8.count < needed { self.init(expecting: needed, write) }
    }
}

extension [UInt8] {
    /// The bytes that `write` writes, which is run a second time where they are more than was expected.
    ///
    /// - Parameter length: how many bytes there will be at the most, nearly always.
    @inlinable
    public init(expecting length: Int, _ write: (inout ByteWriter) -> Void) {
        self.init()
        // On the stack, unless it is long; the array then has the length that it needs.
        let needed = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: length) { room in
            var writer = ByteWriter(room)
            write(&writer)
            if writer.isComplete { append(contentsOf: UnsafeBufferPointer(rebasing: room[..<writer.count])) }
            return writer.count
        }
        if needed > length { self.init(expecting: needed, write) }
    }
}
