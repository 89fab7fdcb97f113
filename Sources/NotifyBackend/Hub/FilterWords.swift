/// Splits a filter text into words and quoted texts.
struct FilterWords {
    private let bytes: [UInt8]
    private var position = 0

    init(text: String) {
        bytes = Array(text.utf8)
    }

    /// Whether only spaces remain.
    var isAtEnd: Bool { bytes[position...].allSatisfy { $0 == UInt8(ascii: " ") } }

    /// Returns the next run of letters; nil if something else follows.
    mutating func nextWord() -> String? {
        skipSpaces()
        let word = bytes[position...].prefix { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        }
        position += word.count
        return word.isEmpty ? nil : String(decoding: word, as: UTF8.self)
    }

    /// Returns the next single-quoted text, in which `''` is one quote; nil if there is none or it is not closed.
    mutating func nextQuotedText() -> String? {
        skipSpaces()
        let quote = UInt8(ascii: "'")
        guard position < bytes.count, bytes[position] == quote else { return nil }
        position += 1
        var text: [UInt8] = []
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if byte == quote {
                guard position < bytes.count, bytes[position] == quote else {
                    return String(decoding: text, as: UTF8.self)
                }
                position += 1
            }
            text.append(byte)
        }
        return nil
    }

    private mutating func skipSpaces() {
        while position < bytes.count, bytes[position] == UInt8(ascii: " ") { position += 1 }
    }
}
