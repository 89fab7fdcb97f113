internal import Foundation

/// The lines of a service's file, split into words as libpam splits them.
///
/// A line ends at a `#`. A backslash at its end continues it. Words are separated by spaces and tabs; text in brackets
/// is one word. What versions of libpam read differently is a fault.
struct StackLines {
    /// A line with at least one word, and the number of its first physical line.
    struct Line: Equatable {
        let number: Int
        let words: [String]
    }

    /// The size of libpam's line buffer without its NUL. Linux-PAM before 1.7 reads the rest of a longer line, also of a
    /// comment, as the next line.
    static let maximumLength = 1023

    private(set) var lines: [Line] = []
    private(set) var faults: [(number: Int, message: String)] = []

    init(_ bytes: [UInt8]) {
        var text: [UInt8] = []
        var first: Int?
        var length = 0
        var hasReturn = false
        let physical = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (number, line) in zip(1..., physical) {
            // The bytes after the last line end are not a line.
            if line.isEmpty, line.endIndex == bytes.endIndex { break }
            let code = line.prefix { $0 != UInt8(ascii: "#") }.drop(while: Self.isBlank)
            length = (first == nil ? 0 : length) + line.count + 1
            if length > Self.maximumLength {
                faults.append((number, "the line is longer than \(Self.maximumLength - 1) bytes, which libpam cuts"))
            }
            if code.isEmpty {
                if first != nil {
                    faults.append((number, "an empty line or a comment follows a line that ends in a backslash"))
                }
                continue
            }
            if code.contains(0) { faults.append((number, "the line contains a NUL byte")) }
            if code.contains(UInt8(ascii: "\r")), !hasReturn {
                hasReturn = true
                let reason = "which libpam reads as part of a word; save the file with Unix line ends"
                faults.append((number, "the line ends in a carriage return, \(reason)"))
            }
            let end = code.lastIndex { !Self.isBlank($0) } ?? code.startIndex
            if code[end] == UInt8(ascii: "\\"), code.endIndex == line.endIndex {
                text += code[..<end] + [UInt8(ascii: " ")]
                first = first ?? number
                continue
            }
            lines.append(Line(number: first ?? number, words: Self.words(of: text + code)))
            (text, first) = ([], nil)
        }
        if let first { faults.append((first, "the file ends in a line that a backslash continues")) }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    /// Returns the words of a line, a bracketed one without its brackets. `\]` in brackets is a `]`.
    private static func words(of line: [UInt8]) -> [String] {
        var words: [String] = []
        var rest = line.drop(while: isBlank)
        while let first = rest.first {
            var word: [UInt8] = []
            if first == UInt8(ascii: "[") {
                rest.removeFirst()
                while let byte = rest.popFirst(), byte != UInt8(ascii: "]") {
                    let isEscape = byte == UInt8(ascii: "\\") && rest.first == UInt8(ascii: "]")
                    word.append(isEscape ? rest.removeFirst() : byte)
                }
            } else {
                word = Array(rest.prefix { !isBlank($0) })
                rest = rest.dropFirst(word.count)
            }
            words.append(String(decoding: word, as: UTF8.self))
            rest = rest.drop(while: isBlank)
        }
        return words
    }
}
