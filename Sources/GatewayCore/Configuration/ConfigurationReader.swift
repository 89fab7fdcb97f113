/// Reads a mapping of the configuration, name by name, and collects every problem on the way.
///
/// Each name is asked for once, where its meaning is documented; `finish()` then reports the names that nobody asked for.
/// A reader for a value that has the wrong shape reports that once and answers nil to everything.
public final class ConfigurationReader {
    /// The path of the mapping from the root.
    public let path: String
    /// Where the mapping stands.
    public let location: SourceLocation
    /// The directory that relative paths in this file are relative to.
    public let directory: String
    private let problems: ConfigurationProblems
    private var entries: [String: ConfigurationNode.Entry] = [:]
    private var known: [String] = []
    private let isUsable: Bool

    /// A reader of a node that should be a mapping. Null is an empty one.
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

    /// The value behind a name, or nil where it is absent or null. Marks the name as known.
    public func node(_ name: String) -> ConfigurationNode? {
        known.append(name)
        return entries[name].flatMap { $0.value.isNull ? nil : $0.value }
    }

    /// Whether the name is there at all, null included. Does not mark it as known.
    public func has(_ name: String) -> Bool { entries[name] != nil }

    /// All names that are there, in the order of the file, for mappings whose names are the operator's own. Marks all as known.
    public func allEntries() -> [ConfigurationNode.Entry] {
        known += entries.keys
        return entriesInOrder
    }

    var entriesInOrder: [ConfigurationNode.Entry] {
        entries.values.sorted { left, right in
            (left.location.line, left.location.column) < (right.location.line, right.location.column)
        }
    }

    /// Reports names that nobody asked for, with the ones that could have been meant.
    public func finish() {
        guard isUsable else { return }
        let known = Set(known)
        let hint = known.isEmpty ? "nothing is" : "known are: \(known.sorted().joined(separator: ", "))"
        for entry in entriesInOrder where !known.contains(entry.name) {
            let meant = Misspelling.nearest(to: entry.name, among: known).map { "did you mean `\($0)`? " } ?? ""
            report(at: entry.location, under: entry.name, "is not known here; \(meant)\(hint)")
        }
    }

    /// Reports a problem with the value behind a name, at its place.
    public func report(_ name: String, _ message: String, severity: ConfigurationProblem.Severity = .error) {
        report(at: entries[name]?.value.location ?? location, under: name, message, severity: severity)
    }

    /// Reports a problem with the mapping as a whole.
    public func report(_ message: String, severity: ConfigurationProblem.Severity = .error) {
        problems.add(at: location, path, message, severity: severity)
    }

    /// Reports a problem at a place of one's own.
    public func report(
        at location: SourceLocation, under name: String, _ message: String,
        severity: ConfigurationProblem.Severity = .error
    ) {
        problems.add(at: location, inner(name), message, severity: severity)
    }

    /// The path of a name in this mapping.
    public func inner(_ name: String) -> String {
        if name.hasPrefix("[") { return path + name }
        return path.isEmpty ? name : "\(path).\(name)"
    }

    /// A reader of the mapping behind a name, or nil where it is absent.
    public func mapping(_ name: String) -> ConfigurationReader? {
        node(name).map { reader(of: $0, under: name) }
    }

    /// A reader of a node that was taken out of this mapping.
    public func reader(of node: ConfigurationNode, under name: String) -> ConfigurationReader {
        ConfigurationReader(node, path: inner(name), directory: directory, problems: problems)
    }

    /// The list behind a name with the path of each value, or nil where it is absent.
    public func sequence(_ name: String) -> [(node: ConfigurationNode, path: String)]? {
        guard let node = node(name) else { return nil }
        guard case .sequence(let values) = node.shape else {
            report(name, "must be a list")
            return nil
        }
        return values.enumerated().map { ($1, "\(name)[\($0)]") }
    }
}

/// Where readers put what is wrong.
public final class ConfigurationProblems {
    /// All so far, in the order of their discovery.
    public private(set) var all: [ConfigurationProblem] = []

    /// None yet.
    public init() {}

    /// Adds one.
    public func add(_ problem: ConfigurationProblem) { all.append(problem) }

    func add(
        at location: SourceLocation, _ path: String, _ message: String,
        severity: ConfigurationProblem.Severity = .error
    ) {
        add(ConfigurationProblem(at: location, path: path, message, severity: severity))
    }
}
