/// Reads the fields of a packet from the start. Every read checks the remaining length; a method returns nil for a
/// malformed packet.
package struct PacketReader {
    private var rest: Slice<UnsafeRawBufferPointer>

    /// Starts at the first byte. The caller must keep the memory valid while the reader is in use.
    package init(_ packet: UnsafeRawBufferPointer) { rest = packet[...] }

    /// Whether every byte was read.
    package var isAtEnd: Bool { rest.isEmpty }

    /// Reads one byte.
    package mutating func byte() -> UInt8? { rest.popFirst() }

    /// Reads this many bytes, without copying them.
    package mutating func bytes(_ count: Int) -> Slice<UnsafeRawBufferPointer>? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    /// Reads an integer of 2 or 4 bytes, most significant byte first.
    package mutating func number<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
        bytes(Number.bitWidth / 8).map { $0.reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) } }
    }

    /// Reads UTF-8 text without NUL that follows its length of two bytes.
    package mutating func text() -> String? {
        guard let length = number(UInt16.self), let bytes = bytes(Int(length)), !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// Builds a packet that holds no secrets.
package struct PacketWriter {
    /// The bytes written so far.
    package private(set) var packet: [UInt8] = []

    /// Creates an empty packet.
    package init() {}

    /// Appends one byte.
    package mutating func byte(_ byte: UInt8) { packet.append(byte) }

    /// Appends bytes without a length.
    package mutating func bytes(_ bytes: some Sequence<UInt8>) { packet += bytes }

    /// Appends an integer, most significant byte first.
    package mutating func number(_ number: some FixedWidthInteger) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            packet.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    /// Appends text after its length of two bytes. The caller must pass less than 64 KiB.
    package mutating func text(_ text: String) {
        number(UInt16(text.utf8.count))
        bytes(text.utf8)
    }
}
