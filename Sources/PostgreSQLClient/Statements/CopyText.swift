/// Rows in the text format of COPY.
struct CopyText {
    private(set) var bytes: [UInt8] = []
    private static let chunkSize = 64 << 10
    private static let mostBytes = 1 << 30
    private static let digits = Array("0123456789abcdef".utf8)

    /// Whether the rows should be sent before others are added.
    var isFull: Bool { bytes.count >= Self.chunkSize }

    /// Removes the rows, and keeps the memory.
    mutating func removeAll() { bytes.removeAll(keepingCapacity: bytes.capacity <= 4 * Self.chunkSize) }

    /// Adds a row.
    ///
    /// - Throws: for a text with a NUL character, and for a row of more than 1 GiB.
    mutating func append(_ row: [PostgreSQLValue]) throws(PostgreSQLError) {
        for (index, value) in row.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: "\t")) }
            switch value {
            case .null: bytes += "\\N".utf8
            case .integer(let number): bytes += String(number).utf8
            case .text(let text):
                for byte in text.utf8 { try append(escaping: byte, index) }
            case .bytes(let content):
                bytes += "\\\\x".utf8
                for byte in content { bytes += [Self.digits[Int(byte >> 4)], Self.digits[Int(byte & 15)]] }
            }
        }
        bytes.append(UInt8(ascii: "\n"))
        guard bytes.count <= Self.mostBytes else { throw PostgreSQLError(.other, "a row is longer than 1 GiB") }
    }

    private mutating func append(escaping byte: UInt8, _ index: Int) throws(PostgreSQLError) {
        switch byte {
        case 0: throw PostgreSQLError(.other, "the column \(index + 1) of a row contains a NUL character")
        case UInt8(ascii: "\\"): bytes += "\\\\".utf8
        case UInt8(ascii: "\t"): bytes += "\\t".utf8
        case UInt8(ascii: "\n"): bytes += "\\n".utf8
        case UInt8(ascii: "\r"): bytes += "\\r".utf8
        default: bytes.append(byte)
        }
    }
}
