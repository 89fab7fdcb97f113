// Strings, numbers and literal names of JSON (RFC 8259, sections 3, 6 and 7).

extension JSONParser {
    static func skipWhiteSpace(_ bytes: borrowing Span<UInt8>, _ cursor: inout Cursor) {
        while cursor.index < bytes.count {
            switch bytes[cursor.index] {
            case 0x20, 0x09, 0x0A, 0x0D: cursor.index += 1
            default: return
            }
        }
    }

    static func consume(_ byte: UInt8, _ bytes: borrowing Span<UInt8>, _ cursor: inout Cursor) -> Bool {
        guard cursor.index < bytes.count, bytes[cursor.index] == byte else { return false }
        cursor.index += 1
        return true
    }

    static func countMember(_ cursor: inout Cursor) throws(Fault) {
        guard cursor.membersLeft > 0 else { throw .tooLarge }
        cursor.membersLeft -= 1
    }

    static func literal(
        _ word: StaticString, _ bytes: borrowing Span<UInt8>, _ cursor: inout Cursor
    ) throws(Fault) {
        for byte in String(describing: word).utf8 {
            guard consume(byte, bytes, &cursor) else { throw .malformed(at: cursor.index) }
        }
    }

    static func number(_ bytes: borrowing Span<UInt8>, _ cursor: inout Cursor) throws(Fault) -> String {
        let start = cursor.index
        _ = consume(UInt8(ascii: "-"), bytes, &cursor)
        if !consume(UInt8(ascii: "0"), bytes, &cursor) { try digits(bytes, &cursor) }
        if consume(UInt8(ascii: "."), bytes, &cursor) { try digits(bytes, &cursor) }
        if consume(UInt8(ascii: "e"), bytes, &cursor) || consume(UInt8(ascii: "E"), bytes, &cursor) {
            if !consume(UInt8(ascii: "+"), bytes, &cursor) { _ = consume(UInt8(ascii: "-"), bytes, &cursor) }
            try digits(bytes, &cursor)
        }
        return try text(bytes.extracting(start..<cursor.index), at: start)
    }

    private static func digits(_ bytes: borrowing Span<UInt8>, _ cursor: inout Cursor) throws(Fault) {
        let start = cursor.index
        while cursor.index < bytes.count, bytes[cursor.index].isASCIIDigit { cursor.index += 1 }
        guard cursor.index > start else { throw .malformed(at: cursor.index) }
    }

    /// Parses a string. The cursor moves from the opening quotation mark to the byte after the closing one.
    static func string(_ bytes: borrowing Span<UInt8>, _ cursor: inout Cursor) throws(Fault) -> String {
        let start = cursor.index
        cursor.index += 1
        let end = skipPlain(bytes, &cursor)
        // Nearly all strings have no escape and are read without a copy.
        if consume(UInt8(ascii: "\""), bytes, &cursor) { return try text(bytes.extracting(start + 1..<end), at: start) }
        var unescaped: [UInt8] = []
        var run = start + 1
        while true {
            let end = skipPlain(bytes, &cursor)
            for index in run..<end { unescaped.append(bytes[index]) }
            if consume(UInt8(ascii: "\""), bytes, &cursor) { return try text(unescaped.span, at: start) }
            guard end < bytes.count, bytes[end] == UInt8(ascii: "\\") else { throw .malformed(at: end) }
            try escape(bytes, &cursor, into: &unescaped)
            run = cursor.index
        }
    }

    /// Advances to the next quotation mark, backslash or control character, or to the end, and returns that index.
    private static func skipPlain(_ bytes: borrowing Span<UInt8>, _ cursor: inout Cursor) -> Int {
        var index = cursor.index
        loop: while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), 0..<0x20: break loop
            default: index += 1
            }
        }
        cursor.index = index
        return index
    }

    private static func text(_ bytes: Span<UInt8>, at start: Int) throws(Fault) -> String {
        do {
            return String(copying: try UTF8Span(validating: bytes))
        } catch {
            throw .malformed(at: start)
        }
    }

    private static func escape(
        _ bytes: borrowing Span<UInt8>, _ cursor: inout Cursor, into text: inout [UInt8]
    ) throws(Fault) {
        let start = cursor.index
        guard start + 1 < bytes.count else { throw .malformed(at: start) }
        cursor.index += 2
        switch bytes[start + 1] {
        case UInt8(ascii: "\""): text.append(UInt8(ascii: "\""))
        case UInt8(ascii: "\\"): text.append(UInt8(ascii: "\\"))
        case UInt8(ascii: "/"): text.append(UInt8(ascii: "/"))
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            text += String(try scalar(bytes, &cursor, start: start)).utf8
        default:
            throw .malformed(at: start)
        }
    }

    private static func scalar(
        _ bytes: borrowing Span<UInt8>, _ cursor: inout Cursor, start: Int
    ) throws(Fault) -> Unicode.Scalar {
        let unit = try codeUnit(bytes, &cursor)
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard unit < 0xDC00 else { throw .loneSurrogate(at: start) }
        guard consume(UInt8(ascii: "\\"), bytes, &cursor), consume(UInt8(ascii: "u"), bytes, &cursor) else {
            throw .loneSurrogate(at: start)
        }
        let low = try codeUnit(bytes, &cursor)
        guard (0xDC00..<0xE000).contains(low),
            let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
        else { throw .loneSurrogate(at: start) }
        return scalar
    }

    private static func codeUnit(_ bytes: borrowing Span<UInt8>, _ cursor: inout Cursor) throws(Fault) -> UInt32 {
        guard cursor.index + 4 <= bytes.count else { throw .malformed(at: cursor.index) }
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = bytes[cursor.index].hexDigitValue else { throw .malformed(at: cursor.index) }
            unit = unit << 4 | UInt32(digit)
            cursor.index += 1
        }
        return unit
    }
}
