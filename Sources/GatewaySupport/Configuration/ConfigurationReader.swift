/// A reader of one mapping of the configuration. It reads the mapping name by name and collects every problem.
///
/// The caller reads each name once, at the place that documents the name. `finish()` then reports the names that were
/// not read. If the value is not a mapping, the reader reports that once and returns nil for every name.
public final class ConfigurationReader {
    /// The path of the mapping from the root.
    public let path: String
    /// The location of the mapping.
    public let location: SourceLocation
    /// The directory that relative paths in this file are resolved against.
    public let directory: String
    private let problems: ConfigurationProblems
    private var entries: [String: ConfigurationNode.Entry] = [:]
    private var known: [String] = []
    private let isUsable: Bool
    /// Whether the file contains secrets, so that problems contain no text of it.
    let concealsText: Bool
    let named = NamedFiles()

    /// Creates a reader of a node that should be a mapping. Null counts as an empty mapping.
    ///
    /// - Parameter concealsText: Whether problems contain neither values nor unknown names, for a file of secrets.
    public init(
        _ node: ConfigurationNode, path: String = "", directory: String, problems: ConfigurationProblems,
        concealsText: Bool = false
    ) {
        self.concealsText = concealsText
        self.path = path
        self.location = node.location
        self.directory = directory
        self.problems = problems
        switch node.shape {
        case .mapping(let entries):
            self.entries = Dictionary(uniqueKeysWithValues: entries.map { ($0.name, $0) })
            isUsable = true
        case .scalar, .sequence:
            isUsable = node.isNull
            if !isUsable { problems.add(at: node.location, path, "must be a mapping of names to values") }
        }
    }

    /// Returns the value of a name, or nil if it is absent or null. Marks the name as known.
    public func node(_ name: String) -> ConfigurationNode? {
        known.append(name)
        return entries[name].flatMap { $0.value.isNull ? nil : $0.value }
    }

    /// Returns whether the name is present, with null or another value. Does not mark it as known.
    public func has(_ name: String) -> Bool { entries[name] != nil }

    /// Returns all entries in the order of the file, for mappings whose names the operator chooses. Marks all names as
    /// known.
    public func allEntries() -> [ConfigurationNode.Entry] {
        known += entries.keys
        return entriesInOrder
    }

    var entriesInOrder: [ConfigurationNode.Entry] {
        entries.values.sorted { left, right in
            (left.location.line, left.location.column) < (right.location.line, right.location.column)
        }
    }

    /// Reports the names that were not read, each with the most similar known name.
    public func finish() {
        guard isUsable else { return }
        let known = Set(known)
        let hint =
            known.isEmpty ? "this mapping takes no keys" : "known keys: \(known.sorted().joined(separator: ", "))"
        for entry in entriesInOrder where !known.contains(entry.name) {
            // A key without a space after its colon contains its value.
            guard !concealsText, Self.isPrintable(entry.name) else {
                problems.add(at: entry.location, path, "has an unknown key; \(hint)")
                continue
            }
            let meant = SpellingSuggestion.nearest(to: entry.name, among: known).map { "did you mean `\($0)`? " } ?? ""
            report(at: entry.location, under: entry.name, "is not a known key; \(meant)\(hint)")
        }
    }

    /// Returns whether a name of the file may be printed: 1 to 32 of `A–Z a–z 0–9 _ -`. Other text may contain a
    /// secret.
    public static func isPrintable(_ name: String) -> Bool {
        (1...32).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    /// Returns the value in quotation marks for a problem, or "the value" if the file contains secrets.
    func quoted(_ text: String) -> String { concealsText ? "the value" : "\"\(text)\"" }

    /// Reports a problem with the value of a name, at the value's location.
    public func report(_ name: String, _ message: String, severity: ConfigurationProblem.Severity = .error) {
        report(at: entries[name]?.value.location ?? location, under: name, message, severity: severity)
    }

    /// Reports a problem with the mapping as a whole.
    public func report(_ message: String, severity: ConfigurationProblem.Severity = .error) {
        problems.add(at: location, path, message, severity: severity)
    }

    /// Reports a problem at a location that the caller gives.
    public func report(
        at location: SourceLocation, under name: String, _ message: String,
        severity: ConfigurationProblem.Severity = .error
    ) {
        problems.add(at: location, inner(name), message, severity: severity)
    }

    /// Reports a problem of a file that the configuration names.
    package func report(_ problem: ConfigurationProblem) { problems.add(problem) }

    /// Returns the full path of a name in this mapping.
    public func inner(_ name: String) -> String {
        if name.hasPrefix("[") { return path + name }
        return path.isEmpty ? name : "\(path).\(name)"
    }

    /// Returns a reader of the mapping under a name, or nil if the name is absent.
    public func mapping(_ name: String) -> ConfigurationReader? {
        node(name).map { reader(of: $0, under: name) }
    }

    /// Returns a reader of a node that was obtained from this mapping.
    public func reader(of node: ConfigurationNode, under name: String) -> ConfigurationReader {
        let reader = ConfigurationReader(
            node, path: inner(name), directory: directory, problems: problems, concealsText: concealsText)
        reader.named.outer = named
        return reader
    }

    /// The absolute paths that were read from this mapping and from the mappings within it.
    public var namedFiles: [String] { named.paths }

    /// Returns the elements of the list under a name, each with its path, or nil if the name is absent.
    public func sequence(_ name: String) -> [(node: ConfigurationNode, path: String)]? {
        guard let node = node(name) else { return nil }
        guard case .sequence(let values) = node.shape else {
            report(name, "must be a list")
            return nil
        }
        return values.enumerated().map { ($1, "\(name)[\($0)]") }
    }
}

/// A search for the known word that a misspelled word most resembles.
enum SpellingSuggestion {
    /// Returns the nearest word, if its edit distance is at most two and at most a third of the word's length.
    static func nearest(to word: String, among words: some Sequence<String>) -> String? {
        words.map { (word: $0, distance: distance(word, $0)) }
            .filter { $0.distance <= min(2, max(1, word.count / 3)) }
            .min { ($0.distance, $0.word) < ($1.distance, $1.word) }?.word
    }

    /// Returns the number of insertions, deletions, replacements and swaps of neighbours (optimal string alignment
    /// distance).
    static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        // Names in a configuration are short; a longer text is not a misspelling of one.
        guard left.count <= 64, right.count <= 64 else { return .max }
        var before: [Int] = []
        var last = Array(0...right.count)
        for (row, letter) in left.enumerated() {
            var current = [row + 1]
            for (column, other) in right.enumerated() {
                var best = min(last[column + 1] + 1, current[column] + 1, last[column] + (letter == other ? 0 : 1))
                if row > 0, column > 0, letter == right[column - 1], left[row - 1] == other {
                    best = min(best, before[column - 1] + 1)
                }
                current.append(best)
            }
            (before, last) = (last, current)
        }
        return last[right.count]
    }
}

/// The paths that a mapping names. Those of a mapping count for the mappings around it too.
final class NamedFiles {
    private(set) var paths: [String] = []
    var outer: NamedFiles?

    func add(_ path: String) {
        paths.append(path)
        outer?.add(path)
    }
}
