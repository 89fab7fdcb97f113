/// Builds a packet that holds no secrets.
struct PacketWriter {
    private(set) var packet: [UInt8] = []

    mutating func byte(_ byte: UInt8) { packet.append(byte) }

    mutating func bytes(_ bytes: some Sequence<UInt8>) { packet += bytes }

    /// Appends an integer, most significant byte first.
    mutating func number(_ number: some FixedWidthInteger) {
        for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
            packet.append(UInt8(truncatingIfNeeded: number >> shift))
        }
    }

    /// Appends text after its length of two bytes. The caller must pass less than 64 KiB.
    mutating func text(_ text: String) {
        number(UInt16(text.utf8.count))
        bytes(text.utf8)
    }
}
