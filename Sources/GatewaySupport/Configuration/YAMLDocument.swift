internal import Yams

/// A parser that turns YAML text into nodes with locations. Stricter than YAML: it rejects duplicate names and more
/// than one document.
public enum YAMLDocument {
    /// The maximum size of a configuration file in bytes.
    public static let maximumLength = 16 * 1024 * 1024

    /// Parses the text and returns the root. An empty document is null.
    ///
    /// - Parameter concealsText: Whether the problem contains no text of the file, for a file of secrets.
    public static func parse(
        _ text: String, file: String, concealsText: Bool = false
    ) throws(ConfigurationProblem) -> ConfigurationNode {
        let start = SourceLocation(file: file, line: 1, column: 1)
        guard text.utf8.count <= maximumLength else {
            throw ConfigurationProblem(at: start, path: "", "the file is longer than \(maximumLength) bytes")
        }
        do {
            let parser = try Parser(yaml: text)
            guard let root = try parser.singleRoot() else {
                return ConfigurationNode(.scalar("", isPlain: true), at: start)
            }
            var converter = Converter(file: file, concealsText: concealsText)
            return try converter.convert(root, path: "", depth: 0)
        } catch let problem as ConfigurationProblem {
            throw problem
        } catch let error as YamlError {
            throw problem(for: error, in: text, file: file, concealsText)
        } catch {
            throw ConfigurationProblem(at: start, path: "", "is not YAML")
        }
    }

    private static func problem(
        for error: YamlError, in text: String, file: String, _ concealsText: Bool
    ) -> ConfigurationProblem {
        func at(_ mark: Mark, _ message: String) -> ConfigurationProblem {
            ConfigurationProblem(
                at: SourceLocation(file: file, line: mark.line, column: mark.column), path: "", message)
        }
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return at(mark, "is not YAML: \(problem)")
        case .duplicatedKeysInMapping(let duplicates, let context):
            let printable = concealsText ? [] : duplicates.filter(ConfigurationReader.isPrintable)
            let names = printable.isEmpty ? "" : ": " + printable.map { "\"\($0)\"" }.joined(separator: ", ")
            let first = context.mark
            guard let name = duplicates.first, let second = YAMLDuplicateKey.second(of: name, after: first, in: text)
            else {
                return at(first, "duplicate name in this mapping\(names)")
            }
            return ConfigurationProblem(
                at: SourceLocation(file: file, line: second.line, column: second.column), path: "",
                "duplicate name in this mapping\(names); first at line \(first.line)")
        case .reader(let problem, _, _, _):
            return ConfigurationProblem(
                at: SourceLocation(file: file, line: 1, column: 1), path: "", "is not YAML: \(problem)")
        default:
            // The error's description contains a part of the file.
            return ConfigurationProblem(at: SourceLocation(file: file, line: 1, column: 1), path: "", "is not YAML")
        }
    }
}

/// A bounded conversion of Yams' nodes into `ConfigurationNode`.
private struct Converter {
    let file: String
    let concealsText: Bool
    // Yams expands aliases, so a small file can grow to any size.
    var nodesLeft = 2_000_000

    mutating func convert(_ node: Node, path: String, depth: Int) throws(ConfigurationProblem) -> ConfigurationNode {
        let location = location(of: node)
        nodesLeft -= 1
        guard depth < 32, nodesLeft > 0 else {
            throw ConfigurationProblem(at: location, path: path, "has too many values, or is nested too deeply")
        }
        switch node {
        case .scalar(let scalar):
            return ConfigurationNode(.scalar(scalar.string, isPlain: scalar.style == .plain), at: location)
        case .sequence(let sequence):
            var values: [ConfigurationNode] = []
            for (index, value) in sequence.enumerated() {
                values.append(try convert(value, path: "\(path)[\(index)]", depth: depth + 1))
            }
            return ConfigurationNode(.sequence(values), at: location)
        case .mapping(let mapping):
            return ConfigurationNode(.mapping(try entries(of: mapping, path: path, depth: depth)), at: location)
        case .alias:
            throw ConfigurationProblem(at: location, path: path, "aliases are not allowed; write the value out")
        }
    }

    private mutating func entries(
        of mapping: Node.Mapping, path: String, depth: Int
    ) throws(ConfigurationProblem) -> [ConfigurationNode.Entry] {
        var entries: [ConfigurationNode.Entry] = []
        var names: Set<String> = []
        for (key, value) in mapping {
            let place = location(of: key)
            guard case .scalar(let name) = key else {
                throw ConfigurationProblem(at: place, path: path, "a name must be text")
            }
            // Yams treats a number and the same digits in quotation marks as two keys; for readers they are one name.
            guard names.insert(name.string).inserted else {
                let isPrintable = !concealsText && ConfigurationReader.isPrintable(name.string)
                let printed = isPrintable ? ": \"\(name.string)\"" : ""
                throw ConfigurationProblem(at: place, path: path, "duplicate name in this mapping\(printed)")
            }
            let isPrintable = !concealsText && ConfigurationReader.isPrintable(name.string)
            let inner = !isPrintable ? path : path.isEmpty ? name.string : "\(path).\(name.string)"
            let converted = try convert(value, path: inner, depth: depth + 1)
            entries.append(.init(name: name.string, location: place, value: converted))
        }
        return entries
    }

    private func location(of node: Node) -> SourceLocation {
        SourceLocation(file: file, line: node.mark?.line ?? 1, column: node.mark?.column ?? 1)
    }
}

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
