public import GatewayCore
internal import SecretFiles

/// A users file being edited: what the commands `users add|list|remove|passwd` work on.
///
/// Load it, change it, write it. Comments and layout of the file do not survive; order and every setting of a user do.
/// Everything here blocks.
public struct UsersFile: Sendable {
    /// Where the file is.
    public let path: String
    /// The users, in the order of the file.
    public private(set) var users: [UserRecord]
    private let names: NameRules
    private let stamp: SecretFile.Stamp?

    /// Reads the file. One that does not exist is one without users.
    ///
    /// - Throws: everything that is wrong with the file: what the gateway would not start with is not edited either.
    public static func load(_ path: String, names: NameRules) throws(ConfigurationFault) -> UsersFile {
        let stamp = SecretFile.Stamp(path)
        if stamp == nil, SecretFile.isAbsent(path) {
            return UsersFile(path: path, users: [], names: names, stamp: nil)
        }
        let text: String
        do { text = try SecretFile.text(at: path) } catch { throw ConfigurationFault([error]) }
        let problems = ConfigurationProblems()
        let document = UsersDocument(text, file: path, names: names, problems: problems)
        guard problems.all.isEmpty else { throw ConfigurationFault(problems.all) }
        return UsersFile(path: path, users: document.records, names: names, stamp: stamp)
    }

    /// Adds a user at the end.
    ///
    /// - Parameters:
    ///   - name: in any spelling; it must have a canonical form that no other user of the file has.
    ///   - passwordHash: as `PasswordHash.make(password:)` gives it, or any other accepted one.
    public mutating func add(
        _ name: String, passwordHash: String, groups: [GroupName] = []
    ) throws(ConfigurationFault) {
        guard let canonical = names.canonical(name) else {
            throw fault("\"\(name)\" is no user name: in lower case, 1 to \(UserName.longest) of a-z 0-9 _ @ . -")
        }
        if let other = users.first(where: { $0.canonicalName == canonical }) {
            throw fault("has the user \"\(other.name)\" already")
        }
        if isHtpasswd, name.contains(where: { $0 == ":" || $0 == "#" || $0.isNewline }) || !groups.isEmpty {
            throw fault("is an htpasswd file, which has no place for groups, or for such a name; use one in YAML")
        }
        users.append(
            UserRecord(
                name: name, canonicalName: canonical, hash: try hash(passwordHash),
                hashLocation: SourceLocation(file: path), groups: groups))
    }

    /// Takes a user out.
    public mutating func remove(_ name: String) throws(ConfigurationFault) {
        users.remove(at: try index(of: name))
    }

    /// Gives a user another password.
    public mutating func setHash(_ passwordHash: String, for name: String) throws(ConfigurationFault) {
        users[try index(of: name)].hash = try hash(passwordHash)
    }

    /// Reads the file, changes it and writes it, while no other command can: of many at once none undoes another's change.
    ///
    /// - Throws: Everything that is wrong with the file, what `change` throws, and where another command does not let go of the
    ///   file's directory. Nothing is changed then.
    public static func edit(
        _ path: String, names: NameRules, _ change: (inout UsersFile) throws(ConfigurationFault) -> Void
    ) throws(ConfigurationFault) {
        let lock: SecretFile.Lock
        do { lock = try SecretFile.Lock(path) } catch { throw ConfigurationFault([error]) }
        var file = try load(path, names: names)
        try change(&file)
        try file.write(holding: lock)
    }

    /// Replaces the file at once: readers see the old one or the new one.
    ///
    /// - Throws: where the file has been changed since it was loaded, or cannot be written; it is then as it was.
    public func write() throws(ConfigurationFault) {
        let lock: SecretFile.Lock
        do { lock = try SecretFile.Lock(path) } catch { throw ConfigurationFault([error]) }
        try write(holding: lock)
    }

    private func write(holding lock: SecretFile.Lock) throws(ConfigurationFault) {
        guard SecretFile.Stamp(path) == stamp else { throw fault("was changed by somebody else meanwhile; try again") }
        do { try SecretFile.replace(path, with: text, holding: lock) } catch { throw ConfigurationFault([error]) }
    }

    var isHtpasswd: Bool { UsersDocument.isHtpasswd(path) }

    private func index(of name: String) throws(ConfigurationFault) -> Int {
        let canonical = names.canonical(name)
        guard let index = users.firstIndex(where: { $0.canonicalName == canonical }) else {
            throw fault("has no user \"\(name)\"")
        }
        return index
    }

    private func hash(_ text: String) throws(ConfigurationFault) -> PasswordHash {
        do { return try PasswordHash(text) } catch { throw fault("the new hash \(error)") }
    }

    private func fault(_ message: String) -> ConfigurationFault { ConfigurationFault(file: path, message) }
}
