internal import Yams

/// A search for the second of two equal names of a mapping. The YAML parser reports only the position of the first.
enum YAMLDuplicateKey {
    /// Returns the position of the next equal name in the same mapping, or nil if this textual search does not find it.
    ///
    /// In block style this is the next line with the name in the same column, before any line that is indented less. In
    /// flow style it is the next occurrence in the same line after a brace or a comma.
    static func second(of name: String, after first: Mark, in text: String) -> (line: Int, column: Int)? {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard (1...lines.count).contains(first.line) else { return nil }
        let own = Array(lines[first.line - 1].unicodeScalars)
        let start = first.column - 1
        for column in own.indices where column > start {
            let before = own[..<column].last { $0 != " " }
            if before == "," || before == "{", begins(own[column...], with: name) { return (first.line, column + 1) }
        }
        for (index, line) in lines.enumerated().dropFirst(first.line) {
            let scalars = Array(line.unicodeScalars)
            guard let column = scalars.firstIndex(where: { $0 != " " }), scalars[column] != "#", scalars[column] != "\r"
            else { continue }
            if column < start { return nil }
            if column == start, begins(scalars[column...], with: name) { return (index + 1, column + 1) }
        }
        return nil
    }

    /// Returns whether the text begins with the name, plain or quoted, and a colon.
    private static func begins(_ text: ArraySlice<Unicode.Scalar>, with name: String) -> Bool {
        ["", "\"", "'"].contains { quote in
            let written = Array((quote + name + quote).unicodeScalars)
            return text.starts(with: written) && text.dropFirst(written.count).first { $0 != " " } == ":"
        }
    }
}
