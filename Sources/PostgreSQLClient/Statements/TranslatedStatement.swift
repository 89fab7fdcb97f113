/// A statement whose placeholders `?` are replaced by PostgreSQL's `$1`, `$2`, ….
///
/// A `?` within a string, a quoted identifier, a dollar-quoted string or a comment stays. Operators with a `?` are not
/// supported. Strings follow the standard (`standard_conforming_strings`), which every connection sets.
struct TranslatedStatement {
    let text: String
    /// The number of placeholders.
    let placeholders: Int

    init(_ sql: String) throws(PostgreSQLError) {
        var scanner = Scanner(Array(sql.utf8))
        while let byte = scanner.peek() {
            switch byte {
            case 0: throw PostgreSQLError(.other, "a statement contains a NUL character")
            case UInt8(ascii: "?"): scanner.replacePlaceholder()
            case UInt8(ascii: "'"): scanner.copyQuoted(byte, withEscapes: scanner.followsEscapeMark)
            case UInt8(ascii: "\""): scanner.copyQuoted(byte, withEscapes: false)
            case UInt8(ascii: "$"): scanner.copyDollarQuoted()
            case UInt8(ascii: "-") where scanner.peek(1) == UInt8(ascii: "-"): scanner.copyLine()
            case UInt8(ascii: "/") where scanner.peek(1) == UInt8(ascii: "*"): scanner.copyComment()
            default: scanner.copy(1)
            }
        }
        text = String(decoding: scanner.output, as: UTF8.self)
        placeholders = scanner.placeholders
    }

    /// Copies SQL to the output, one lexical element after the other.
    private struct Scanner {
        private let input: [UInt8]
        private var position = 0
        private(set) var output: [UInt8] = []
        private(set) var placeholders = 0

        init(_ input: [UInt8]) {
            self.input = input
            output.reserveCapacity(input.count + 16)
        }

        /// The byte at this distance from the position, or nil after the end.
        func peek(_ distance: Int = 0) -> UInt8? {
            position + distance < input.count ? input[position + distance] : nil
        }

        /// Whether the quote at the position begins a string `E'…'`, in which a backslash escapes a quote.
        var followsEscapeMark: Bool {
            guard position > 0, input[position - 1] | 0x20 == UInt8(ascii: "e") else { return false }
            return position < 2 || !Self.isIdentifier(input[position - 2])
        }

        mutating func copy(_ count: Int) {
            let end = min(position + count, input.count)
            output += input[position..<end]
            position = end
        }

        mutating func replacePlaceholder() {
            placeholders += 1
            output.append(UInt8(ascii: "$"))
            output += String(placeholders).utf8
            position += 1
        }

        /// Copies to the closing quote. A doubled quote is the end of one quoted part and the start of another.
        mutating func copyQuoted(_ quote: UInt8, withEscapes: Bool) {
            copy(1)
            while let byte = peek() {
                if byte == UInt8(ascii: "\\"), withEscapes {
                    copy(2)
                } else if byte == quote, withEscapes, peek(1) == quote {
                    copy(2)
                } else {
                    copy(1)
                    if byte == quote { return }
                }
            }
        }

        /// Copies `$tag$…$tag$`, or only the dollar sign if none begins here.
        mutating func copyDollarQuoted() {
            // `a$b` is an identifier, `$1` a parameter.
            let isInIdentifier = position > 0 && Self.isIdentifier(input[position - 1])
            var end = 1
            while let byte = peek(end), Self.isIdentifier(byte), byte != UInt8(ascii: "$") { end += 1 }
            let startsWithDigit = peek(1).map { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ?? false
            guard !isInIdentifier, !startsWithDigit, peek(end) == UInt8(ascii: "$") else { return copy(1) }
            let tag = input[position...(position + end)]
            copy(tag.count)
            while peek() != nil {
                if input[position...].starts(with: tag) { return copy(tag.count) }
                copy(1)
            }
        }

        mutating func copyLine() {
            while let byte = peek(), byte != UInt8(ascii: "\n"), byte != UInt8(ascii: "\r") { copy(1) }
        }

        /// Copies a comment, which may contain comments.
        mutating func copyComment() {
            var depth = 0
            while let byte = peek() {
                if byte == UInt8(ascii: "/"), peek(1) == UInt8(ascii: "*") {
                    depth += 1
                    copy(2)
                } else if byte == UInt8(ascii: "*"), peek(1) == UInt8(ascii: "/") {
                    depth -= 1
                    copy(2)
                    if depth == 0 { return }
                } else {
                    copy(1)
                }
            }
        }

        private static func isIdentifier(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
                true
            default: false
            }
        }
    }
}
