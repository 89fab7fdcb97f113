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

    /// Returns whether a name of the file may be printed: 1 to 32 of `A–Z a–z 0–9 _ -`. Other text may contain a secret.
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
        ConfigurationReader(
            node, path: inner(name), directory: directory, problems: problems, concealsText: concealsText)
    }

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

/// The collection of problems that readers report to.
public final class ConfigurationProblems {
    /// The problems so far, in the order of discovery.
    public private(set) var all: [ConfigurationProblem] = []

    /// Creates an empty collection.
    public init() {}

    /// Adds a problem. Its message does not contain expanded values.
    public func add(_ problem: ConfigurationProblem) {
        var problem = problem
        problem.message = concealed(problem.message, at: problem.location)
        all.append(problem)
    }

    /// The text of each scalar that contains an expansion, by location.
    private var expandedTexts: [SourceLocation: String] = [:]
    /// The values of expansions and the texts that contain them, which no problem contains.
    private var expansions: Set<String> = []

    /// Removes the value of an expansion, and the text that contains it, from the messages of later problems.
    package func conceal(_ values: [String], in text: String, at location: SourceLocation) {
        expandedTexts[location] = text
        expansions.formUnion((values + [text]).filter { !$0.isEmpty })
    }

    private func concealed(_ message: String, at location: SourceLocation) -> String {
        guard !expansions.isEmpty else { return message }
        let replacement = "a value from an expansion"
        var message = message
        for text in expansions.sorted(by: { $0.utf8.count > $1.utf8.count }) {
            message = message.replacing("\"\(text)\"", with: replacement)
            // A short text, such as a port, may also be a part of the message itself.
            if text.utf8.count >= 8 { message = message.replacing(text, with: replacement) }
        }
        guard let text = expandedTexts[location]?.lowercased() else { return message }
        // A part of the value, such as the host of a URL.
        let parts = message.split(separator: "\"", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() where index % 2 == 1 && !part.isEmpty {
            if text.contains(part.lowercased()) { message = message.replacing("\"\(part)\"", with: replacement) }
        }
        return message
    }

    func add(
        at location: SourceLocation, _ path: String, _ message: String,
        severity: ConfigurationProblem.Severity = .error
    ) {
        add(ConfigurationProblem(at: location, path: path, message, severity: severity))
    }
}
