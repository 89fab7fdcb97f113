/// The decoded fields of a query or of an `application/x-www-form-urlencoded` body, in order.
struct FormFields {
    let fields: [(name: String, value: String)]

    /// Splits the text at `&` and each field at its first `=`. `+` becomes a space and invalid UTF-8 becomes U+FFFD.
    /// A percent sign without two hexadecimal digits is kept.
    init(_ text: some StringProtocol) {
        fields = text.split(separator: "&").map { field in
            let pair = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (
                name: Self.decoded(pair[0], plusIsSpace: true),
                value: pair.count == 2 ? Self.decoded(pair[1], plusIsSpace: true) : ""
            )
        }
    }

    /// Returns the value of the first field with the name, ignoring case; nil if there is none.
    func first(_ name: String) -> String? {
        fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// Decodes the percent escapes of a text.
    static func decoded(_ text: some StringProtocol, plusIsSpace: Bool) -> String {
        let bytes = Array(text.utf8)
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var position = 0
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == UInt8(ascii: "+"), plusIsSpace {
                decoded.append(0x20)
            } else if byte == UInt8(ascii: "%"), position + 1 < bytes.count, let high = digit(bytes[position]),
                let low = digit(bytes[position + 1])
            {
                decoded.append(high << 4 | low)
                position += 2
            } else {
                decoded.append(byte)
            }
        }
        return String(decoding: decoded, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) }
    }
}
