internal import GatewayCore

/// An incremental parser for a header or trailer section (RFC 9112, section 5), up to the empty line at its end.
///
/// Its result does not depend on how the bytes are split. The caller keeps all bytes from the start of the section and
/// passes the same span, extended by new bytes, to each call.
struct FieldParser {
    /// The result of one parsing step.
    enum Event: Equatable {
        /// The bytes end before the line does; more are needed.
        case incomplete
        /// A complete field line.
        case field(FieldLine)
        /// The empty line. `index` is the position after it.
        case end
    }

    private enum Stage {
        case lineStart, name, valueStart, value, lineFeed, lastLineFeed
    }

    /// The position of the next byte to parse.
    private(set) var index: Int
    private let end: Int
    private var fieldsLeft: Int
    private var stage = Stage.lineStart
    private var nameStart = 0
    private var nameEnd = 0
    private var valueStart = 0
    private var valueEnd = 0
    private var hasObsoleteText = false

    /// Creates a parser that starts at `index` and accepts at most `bytes` bytes and `count` fields.
    init(startingAt index: Int, bytes: Int, count: Int) {
        self.index = index
        self.end = index + bytes
        self.fieldsLeft = count
    }

    /// Returns the next field or the end of the section.
    mutating func next(in bytes: borrowing Span<UInt8>) throws(FramingError) -> Event {
        let limit = min(bytes.count, end)
        while index < limit {
            let byte = bytes[index]
            switch stage {
            case .name:
                // The hot loop: every byte of a name is checked.
                var place = index
                while place < limit, bytes[place].isTokenByte { place += 1 }
                index = place
                if place == limit { continue }
                guard bytes[place] == .colon else { throw .malformed("an invalid byte in a field name") }
                nameEnd = place
                stage = .valueStart
                // The fast path: a single space before the value.
                if place + 2 < limit, bytes[place + 1] == .space, !bytes[place + 2].isOptionalWhitespace {
                    index = place + 2
                    beginValue()
                    continue
                }
            case .value:
                index = bytes.endOfPlainText(from: index, before: limit)
                if index == limit { continue }
                // The fast path: the complete line ending has arrived.
                if index + 1 < limit, bytes[index] == .carriageReturn, bytes[index + 1] == .lineFeed {
                    valueEnd = index
                    index += 2
                    return endLine(bytes)
                }
                try endOrContinueValue(bytes[index])
            case .lineStart:
                try startLine(byte)
            case .valueStart:
                if byte.isOptionalWhitespace { break }
                beginValue()
                continue
            case .lineFeed:
                guard byte == .lineFeed else { throw .malformed("a bare CR in a field") }
                index += 1
                return endLine(bytes)
            case .lastLineFeed:
                guard byte == .lineFeed else { throw .malformed("a bare CR after the fields") }
                index += 1
                return .end
            }
            index += 1
        }
        if index == end { throw FramingError(code: .headersTooLarge, detail: "the header block is too long") }
        return .incomplete
    }

    private mutating func beginValue() {
        valueStart = index
        hasObsoleteText = false
        stage = .value
    }

    private mutating func endLine(_ bytes: borrowing Span<UInt8>) -> Event {
        stage = .lineStart
        let value = bytes.trimmed(valueStart..<valueEnd)
        return .field(FieldLine(name: nameStart..<nameEnd, value: value, hasObsoleteText: hasObsoleteText))
    }

    private mutating func startLine(_ byte: UInt8) throws(FramingError) {
        if byte == .carriageReturn {
            stage = .lastLineFeed
            return
        }
        if byte.isOptionalWhitespace { throw .malformed("a folded or indented field line") }
        guard byte.isTokenByte else { throw .malformed("a field line that does not start with a name") }
        guard fieldsLeft > 0 else { throw FramingError(code: .headersTooLarge, detail: "too many fields") }
        fieldsLeft -= 1
        nameStart = index
        stage = .name
    }

    private mutating func endOrContinueValue(_ byte: UInt8) throws(FramingError) {
        if byte == .carriageReturn {
            valueEnd = index
            stage = .lineFeed
        } else if byte >= 0x80 {
            hasObsoleteText = true
        } else if byte.isForbiddenInValue {
            throw .malformed(byte == .lineFeed ? "a bare LF in a field" : "a control character in a field")
        }
    }
}

/// A header field as ranges in the bytes that it was parsed from.
struct FieldLine: Equatable {
    /// The name, one or more `tchar` bytes.
    var name: Range<Int>
    /// The value without leading and trailing white space.
    var value: Range<Int>
    /// Whether the value contains `obs-text`: bytes from 0x80, whose encoding is undefined (RFC 9110, section 5.5).
    var hasObsoleteText: Bool
}
