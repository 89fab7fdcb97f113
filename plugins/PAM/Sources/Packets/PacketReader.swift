/// Reads the fields of a packet from the start. Every read checks the remaining length; a method returns nil for a
/// malformed packet.
struct PacketReader {
    private var rest: Slice<UnsafeRawBufferPointer>

    /// Starts at the first byte. The caller must keep the memory valid while the reader is in use.
    init(_ packet: UnsafeRawBufferPointer) { rest = packet[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() -> UInt8? { rest.popFirst() }

    mutating func bytes(_ count: Int) -> Slice<UnsafeRawBufferPointer>? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    /// Reads an integer of 2 or 4 bytes, most significant byte first.
    mutating func number<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
        bytes(Number.bitWidth / 8).map { $0.reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) } }
    }

    /// Reads UTF-8 text without NUL that follows its length of two bytes.
    mutating func text() -> String? {
        guard let length = number(UInt16.self), let bytes = bytes(Int(length)), !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
