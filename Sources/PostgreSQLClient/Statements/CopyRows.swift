/// Rows of `COPY … FROM STDIN`, encoded column by column for statements that copy much.
package struct CopyRows {
    /// The rows in text format.
    package private(set) var bytes: [UInt8] = []
    private var isWithinRow = false

    /// Creates an empty list.
    ///
    /// - Parameter capacity: The expected number of bytes.
    package init(capacity: Int) { bytes.reserveCapacity(capacity) }

    /// Adds a column without a value.
    package mutating func addNull() {
        separate()
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(UInt8(ascii: "N"))
    }

    /// Adds a number.
    package mutating func add(_ number: Int64) {
        separate()
        bytes += String(number).utf8
    }

    /// Adds a text. Bytes that are not UTF-8, and NUL characters, are replaced with U+FFFD, because PostgreSQL cannot store
    /// them.
    package mutating func add(_ text: UnsafeRawBufferPointer) {
        separate()
        // Most texts have only bytes that stand for themselves. A loop without an exit examines many bytes at once.
        var (special, start) = (0 as UInt8, 0)
        for byte in text { special |= byte &- 0x20 >= 0x60 || byte == UInt8(ascii: "\\") ? 1 : 0 }
        guard special != 0 else { return append(text[...]) }
        let isStorable = !text.contains { $0 == 0 || $0 >= 0x80 }
        guard isStorable else { return addRepaired(String(decoding: text, as: UTF8.self)) }
        for (index, byte) in text.enumerated() {
            guard let escape = Self.escape(byte) else { continue }
            append(text[start..<index])
            bytes.append(UInt8(ascii: "\\"))
            bytes.append(escape)
            start = index + 1
        }
        append(text[start...])
    }

    /// Ends the row.
    package mutating func endRow() {
        bytes.append(UInt8(ascii: "\n"))
        isWithinRow = false
    }

    private mutating func addRepaired(_ text: String) {
        for byte in text.utf8 {
            if byte == 0 {
                bytes += "\u{FFFD}".utf8
            } else if let escape = Self.escape(byte) {
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(escape)
            } else {
                bytes.append(byte)
            }
        }
    }

    /// Returns the letter that stands for the byte after a backslash; nil for a byte that stands for itself.
    private static func escape(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "\\"): byte
        case UInt8(ascii: "\t"): UInt8(ascii: "t")
        case UInt8(ascii: "\n"): UInt8(ascii: "n")
        case UInt8(ascii: "\r"): UInt8(ascii: "r")
        default: nil
        }
    }

    private mutating func append(_ part: Slice<UnsafeRawBufferPointer>) {
        UnsafeRawBufferPointer(rebasing: part).withMemoryRebound(to: UInt8.self) { bytes.append(contentsOf: $0) }
    }

    private mutating func separate() {
        if isWithinRow { bytes.append(UInt8(ascii: "\t")) }
        isWithinRow = true
    }
}
