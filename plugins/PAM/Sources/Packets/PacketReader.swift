/// Takes a packet apart from its start. Every reading is checked against the end; nil is a packet that is none of ours.
struct PacketReader {
    private var rest: Slice<UnsafeRawBufferPointer>

    /// The bytes must stay where they are while this reads.
    init(_ packet: UnsafeRawBufferPointer) { rest = packet[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() -> UInt8? { rest.popFirst() }

    mutating func bytes(_ count: Int) -> Slice<UnsafeRawBufferPointer>? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    /// A number of 2 or 4 bytes, most significant first.
    mutating func number<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
        bytes(Number.bitWidth / 8).map { $0.reduce(0) { $0 << 8 | Number(truncatingIfNeeded: $1) } }
    }

    /// Valid UTF-8 without NUL behind its length of two bytes.
    mutating func text() -> String? {
        guard let length = number(UInt16.self), let bytes = bytes(Int(length)), !bytes.contains(0) else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
