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

    /// Creates a reader of a node that should be a mapping. Null counts as an empty mapping.
    public init(
        _ node: ConfigurationNode, path: String = "", directory: String, problems: ConfigurationProblems
    ) {
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
            let meant = SpellingSuggestion.nearest(to: entry.name, among: known).map { "did you mean `\($0)`? " } ?? ""
            report(at: entry.location, under: entry.name, "is not a known key; \(meant)\(hint)")
        }
    }

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
        ConfigurationReader(node, path: inner(name), directory: directory, problems: problems)
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

    /// Adds a problem.
    public func add(_ problem: ConfigurationProblem) { all.append(problem) }

    func add(
        at location: SourceLocation, _ path: String, _ message: String,
        severity: ConfigurationProblem.Severity = .error
    ) {
        add(ConfigurationProblem(at: location, path: path, message, severity: severity))
    }
}
