/// The OData filter `channeluri eq '<handle>'` by which backends look up a handle.
///
/// The backend inserts the handle without escaping, so a handle with `'` can change the filter and find registrations
/// of others. This parser supports the syntax needed for that: comparisons of `channeluri` with quoted texts, combined
/// with `and` and `or` (`and` binds tighter).
struct ChannelFilter: Equatable {
    /// The comparison operators of OData.
    enum Comparison: String { case eq, ne, gt, ge, lt, le }

    /// A comparison of `channeluri` with a quoted text.
    struct Term: Equatable {
        let comparison: Comparison
        let text: String
    }

    /// The maximum number of terms in a filter.
    static let maximumTerms = 64

    /// The alternatives, each a list of terms that must all match.
    let alternatives: [[Term]]

    /// The handle, if the filter compares with exactly one handle.
    var onlyHandle: String? {
        guard alternatives.count == 1, alternatives[0].count == 1, alternatives[0][0].comparison == .eq else {
            return nil
        }
        return alternatives[0][0].text
    }

    /// Builds the filter for a handle like a backend, and parses it like the hub.
    ///
    /// Throws ``HubFailure/badRequest`` if the inserted handle makes it malformed.
    init(pasting handle: String) throws(HubFailure) {
        var words = FilterWords(text: "channeluri eq '" + handle + "'")
        var alternatives: [[Term]] = [[]]
        var count = 0
        while true {
            guard let property = words.nextWord(), property.lowercased() == "channeluri",
                let comparison = words.nextWord().flatMap({ Comparison(rawValue: $0.lowercased()) }),
                let text = words.nextQuotedText()
            else { throw .badRequest }
            alternatives[alternatives.count - 1].append(Term(comparison: comparison, text: text))
            count += 1
            guard count <= Self.maximumTerms else { throw .badRequest }
            if words.isAtEnd { break }
            switch words.nextWord()?.lowercased() {
            case "and": continue
            case "or": alternatives.append([])
            default: throw .badRequest
            }
        }
        self.alternatives = alternatives
    }

    /// Returns whether the filter finds a registration with this handle.
    func matches(_ handle: String) -> Bool {
        alternatives.contains { terms in
            terms.allSatisfy { term in
                switch term.comparison {
                case .eq: handle == term.text
                case .ne: handle != term.text
                case .gt: handle > term.text
                case .ge: handle >= term.text
                case .lt: handle < term.text
                case .le: handle <= term.text
                }
            }
        }
    }
}

/// A tokenizer that splits a filter into words and quoted texts.
struct FilterWords {
    private let bytes: [UInt8]
    private var position = 0

    init(text: String) {
        bytes = Array(text.utf8)
    }

    /// Whether only spaces remain.
    var isAtEnd: Bool { bytes[position...].allSatisfy { $0 == UInt8(ascii: " ") } }

    /// Returns the next run of letters; nil if there is none at this position.
    mutating func nextWord() -> String? {
        skipSpaces()
        let word = bytes[position...].prefix { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        }
        position += word.count
        return word.isEmpty ? nil : String(decoding: word, as: UTF8.self)
    }

    /// Returns the next text in single quotes, in which `''` stands for one quote; nil if there is none or it is not
    /// closed.
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

    /// Skips a byte. Returns whether it was at this position.
    mutating func skip(_ expected: Unicode.Scalar) -> Bool {
        guard position < bytes.count, bytes[position] == UInt8(ascii: expected) else { return false }
        position += 1
        return true
    }

    private mutating func skipSpaces() {
        while position < bytes.count, bytes[position] == UInt8(ascii: " ") { position += 1 }
    }
}
