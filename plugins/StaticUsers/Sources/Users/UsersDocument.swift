internal import GatewayCore
internal import GatewaySupport

/// The content of a users file, in YAML or htpasswd format.
struct UsersDocument {
    /// The users, in the order of the file.
    private(set) var records: [UserRecord] = []
    /// Whether the text says that there are no users: `users: {}` in YAML, the line `# no users` in htpasswd format. A
    /// file that another program has truncated does not say so.
    private(set) var declaresNoUsers = false
    private let problems: ConfigurationProblems
    private let names: NameRules
    private var linesByName: [UserName: (name: String, line: Int)] = [:]

    /// Parses the text of a file. Every problem goes to `problems`.
    init(_ text: String, file: String, names: NameRules, problems: ConfigurationProblems) {
        self.problems = problems
        self.names = names
        if Self.isHtpasswd(file) {
            readHtpasswd(text, file: file)
        } else {
            readYAML(text, file: file)
        }
    }

    /// The line of an htpasswd file that has no users on purpose.
    static let noUsersLine = "# no users"

    /// Whether a file of this name is in htpasswd format.
    static func isHtpasswd(_ file: String) -> Bool { file.hasSuffix(".htpasswd") }

    private mutating func readYAML(_ text: String, file: String) {
        let root: ConfigurationNode
        do { root = try YAMLDocument.parse(text, file: file, concealsText: true) } catch {
            return problems.add(error)
        }
        let reader = ConfigurationReader(root, directory: "", problems: problems, concealsText: true)
        let users = reader.mapping("users")
        if case .mapping(let entries)? = reader.node("users")?.shape { declaresNoUsers = entries.isEmpty }
        for (index, entry) in (users?.allEntries() ?? []).enumerated() {
            let shown = Self.isPrintable(entry.name) ? entry.name : "[\(index)]"
            guard let user = users?.reader(of: entry.value, under: shown) else { continue }
            readUser(user, named: entry)
        }
        reader.finish()
    }

    private mutating func readUser(_ reader: ConfigurationReader, named entry: ConfigurationNode.Entry) {
        // `hash`: a crypt(5) hash of an accepted scheme. Required.
        let place = reader.node("hash")?.location ?? reader.location
        let hash = reader.required("hash").flatMap { readHash($0, at: place, path: reader.inner("hash")) }
        // `groups`: a list of group names. Default: none.
        let groups = (reader.sequence("groups") ?? []).compactMap { node, path -> GroupName? in
            guard let text = reader.string(of: node, under: path) else { return nil }
            guard let group = GroupName(text) else {
                reader.report(
                    at: node.location, under: path, "is not a group name: use 1 to 64 of A-Z a-z 0-9 _ . -")
                return nil
            }
            return group
        }
        // `disabled`: true or false. Default: false.
        let isDisabled = reader.bool("disabled") ?? false
        // `expires`: a time of RFC 3339. Default: never.
        let expires: WallTime? = reader.string("expires").flatMap { text in
            let time = WallTime(rfc3339: text)
            if time == nil { reader.report("expires", "is not an RFC 3339 time such as 2027-01-31T00:00:00Z") }
            return time
        }
        reader.finish()
        guard let name = claim(entry.name, at: entry.location, path: reader.path), let hash else { return }
        records.append(
            UserRecord(
                name: entry.name, canonicalName: name, hash: hash, hashLocation: place, groups: groups,
                isDisabled: isDisabled, expires: expires))
    }

    /// Reads `name:hash` lines. Ignores further fields, blank lines and lines that begin with `#`.
    private mutating func readHtpasswd(_ text: String, file: String) {
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            if line == Self.noUsersLine { declaresNoUsers = true }
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            let start = SourceLocation(file: file, line: index + 1, column: 1)
            let fields = line.split(separator: ":", omittingEmptySubsequences: false)
            guard fields.count > 1, !fields[0].isEmpty else {
                problems.add(ConfigurationProblem(at: start, path: "", "must be a name, a colon and a hash"))
                continue
            }
            var place = start
            place.column = fields[0].count + 2
            let name = String(fields[0])
            let shown = Self.isPrintable(name) ? name : ""
            let canonical = claim(name, at: start, path: shown)
            let hash = readHash(String(fields[1]), at: place, path: shown)
            guard let canonical, let hash else { continue }
            records.append(UserRecord(name: name, canonicalName: canonical, hash: hash, hashLocation: place))
        }
    }

    /// Returns whether a name may be printed. Other text in its place may be a hash or a password.
    private static func isPrintable(_ name: String) -> Bool { ConfigurationReader.isPrintable(name) }

    private func readHash(_ text: String, at location: SourceLocation, path: String) -> PasswordHash? {
        do { return try PasswordHash(text) } catch {
            problems.add(ConfigurationProblem(at: location, path: path, error.description))
            return nil
        }
    }

    /// Returns the canonical name of the account and reserves it. The name is taken literally, as at a login. Reports a name without a canonical form, and a name whose
    /// canonical form another user of the file has.
    private mutating func claim(_ name: String, at location: SourceLocation, path: String) -> UserName? {
        guard let canonical = names.canonical(LoginName(name)) else {
            problems.add(
                ConfigurationProblem(
                    at: location, path: path,
                    "is not a user name: in lower case, 1 to \(UserName.maximumLength) of a-z 0-9 _ @ . -"))
            return nil
        }
        if let other = linesByName[canonical] {
            let printable = Self.isPrintable(other.name) && Self.isPrintable(canonical.text)
            let message =
                printable
                ? "is the same user as \"\(other.name)\" in line \(other.line): both are \"\(canonical)\""
                : "is the same user as the one in line \(other.line)"
            problems.add(ConfigurationProblem(at: location, path: path, message))
            return nil
        }
        linesByName[canonical] = (name, location.line)
        return canonical
    }
}
