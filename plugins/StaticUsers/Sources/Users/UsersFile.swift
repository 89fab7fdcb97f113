public import GatewayCore
public import GatewaySupport

/// An editable users file, for the commands `users add`, `list`, `remove` and `passwd`.
///
/// Load it, change it, write it. The order and every setting of a user are kept; comments and layout are lost. Every
/// operation blocks.
public struct UsersFile: Sendable {
    /// The path of the file.
    public let path: String
    /// The users, in the order of the file.
    public private(set) var users: [UserRecord]
    private let names: NameRules
    private let stamp: SecretFile.Stamp?

    /// Reads the file. A file that does not exist is read as a file without users.
    ///
    /// - Throws: `ConfigurationError` with every problem of the file. A file that the gateway would reject cannot be
    ///   edited.
    public static func load(_ path: String, names: NameRules) throws(ConfigurationError) -> UsersFile {
        let stamp = SecretFile.Stamp(path)
        if stamp == nil, SecretFile.isAbsent(path) {
            return UsersFile(path: path, users: [], names: names, stamp: nil)
        }
        let text: String
        do { text = try SecretFile.text(at: path) } catch { throw ConfigurationError([error]) }
        let problems = ConfigurationProblems()
        let document = UsersDocument(text, file: path, names: names, problems: problems)
        guard problems.all.isEmpty else { throw ConfigurationError(problems.all) }
        return UsersFile(path: path, users: document.records, names: names, stamp: stamp)
    }

    /// Adds a user at the end.
    ///
    /// - Parameters:
    ///   - name: in any spelling. Its user must be new to the file. The file gets the account's name, also if `name` is the
    ///     canonical name.
    ///   - passwordHash: the result of `PasswordHash.make(password:)`, or any other accepted hash.
    public mutating func add(
        _ name: String, passwordHash: String, groups: [GroupName] = []
    ) throws(ConfigurationError) {
        guard let canonical = names.user(PresentedName(name)) else {
            throw fault(
                "\"\(name)\" is not a user name: in lower case, 1 to \(UserName.maximumLength) of a-z 0-9 _ @ . -")
        }
        let name = names.canonical(LoginName(name)) == canonical ? name : names.login(of: canonical).text
        if let other = users.first(where: { $0.canonicalName == canonical }) {
            throw fault("already has the user \"\(other.name)\"")
        }
        if isHtpasswd, name.contains(where: { $0 == ":" || $0 == "#" || $0.isNewline }) || !groups.isEmpty {
            throw fault("is an htpasswd file, which cannot hold groups or this name; use a YAML file")
        }
        users.append(
            UserRecord(
                name: name, canonicalName: canonical, hash: try hash(passwordHash),
                hashLocation: SourceLocation(file: path), groups: groups))
    }

    /// Removes a user.
    public mutating func remove(_ name: String) throws(ConfigurationError) {
        users.remove(at: try index(of: name))
    }

    /// Replaces a user's password hash.
    public mutating func setHash(_ passwordHash: String, for name: String) throws(ConfigurationError) {
        users[try index(of: name)].hash = try hash(passwordHash)
    }

    /// Reads, changes and writes the file under a lock, so that concurrent commands do not overwrite each other's
    /// changes.
    ///
    /// - Throws: `ConfigurationError` with every problem of the file, the error of `change`, or a problem if another
    ///   command holds the lock too long. The file is then unchanged.
    public static func edit(
        _ path: String, names: NameRules, _ change: (inout UsersFile) throws(ConfigurationError) -> Void
    ) throws(ConfigurationError) {
        let lock: SecretFile.Lock
        do { lock = try SecretFile.Lock(path) } catch { throw ConfigurationError([error]) }
        var file = try load(path, names: names)
        try change(&file)
        try SecretFile.replace(path, with: file.text, loadedAs: file.stamp, holding: lock)
    }

    /// Replaces the file atomically: a reader sees the old content or the new content.
    ///
    /// - Throws: `ConfigurationError` if the file was changed after it was loaded, or cannot be written. The file is
    ///   then left as it was.
    public func write() throws(ConfigurationError) { try SecretFile.replace(path, with: text, loadedAs: stamp) }

    var isHtpasswd: Bool { UsersDocument.isHtpasswd(path) }

    private func index(of name: String) throws(ConfigurationError) -> Int {
        let canonical = names.user(PresentedName(name))
        guard let index = users.firstIndex(where: { $0.canonicalName == canonical }) else {
            throw fault("has no user \"\(name)\"")
        }
        return index
    }

    private func hash(_ text: String) throws(ConfigurationError) -> PasswordHash {
        do { return try PasswordHash(text) } catch { throw fault("the new hash \(error)") }
    }

    private func fault(_ message: String) -> ConfigurationError { ConfigurationError(file: path, message) }
}

extension UsersFile {
    /// The file's new content.
    var text: String {
        switch (isHtpasswd, users.isEmpty) {
        case (true, true): UsersDocument.noUsersLine + "\n"
        case (true, false): users.map { "\($0.name):\($0.hash.text)\n" }.joined()
        case (false, true): "users: {}\n"
        case (false, false): "users:\n" + users.map { "  \(Self.line(for: $0))\n" }.joined()
        }
    }

    private static func line(for user: UserRecord) -> String {
        var settings = ["hash: \(quoted(user.hash.text))"]
        if !user.groups.isEmpty {
            settings.append("groups: [\(user.groups.map { quoted($0.text) }.joined(separator: ", "))]")
        }
        if user.isDisabled { settings.append("disabled: true") }
        if let expires = user.expires { settings.append("expires: \(quoted(expires.description))") }
        return "\(quoted(user.name)): { \(settings.joined(separator: ", ")) }"
    }

    /// Quotes a text as a JSON string, which is a valid double-quoted YAML 1.2 scalar and is never read as a number
    /// or a Boolean.
    private static func quoted(_ text: String) -> String {
        var bytes: [UInt8] = []
        JSONWriter.write(string: text, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
