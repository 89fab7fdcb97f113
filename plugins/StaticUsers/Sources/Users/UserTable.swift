public import GatewayCore
public import GatewaySupport

/// The users of a valid users file, which logins are verified against.
struct UserTable: Sendable {
    /// One user of the table.
    struct User: Sendable {
        let name: UserName
        let hash: PasswordHash
        let groups: Set<GroupName>
        let isDisabled: Bool
        let expires: WallTime?

        /// Returns why a login with the correct password is rejected, or nil if it is accepted.
        func rejection(at now: WallTime) -> InvalidCredentialReason? {
            if isDisabled { return .disabled }
            return expires.map { $0 <= now } == true ? .expired : nil
        }
    }

    /// By canonical name; empty only after a reload.
    let users: [UserName: User]
    /// Whether the file says that it has no users. An empty file does not.
    let isDeclaredEmpty: Bool
    /// Every user's hash, in the order of the names. Decoys are chosen from these, so they have the same mix of costs
    /// as the file. A table without users keeps the hashes of the table before it, and has none if there was no table.
    let hashes: [PasswordHash]
    /// A fingerprint of each user's hash, also for users who may not log in.
    let fingerprints: [UserName: AccountFingerprint]
    /// The version of the file.
    let version: FileVersion
    /// The costs that libcrypt computed successfully. A reload does not try them again.
    let supportedCosts: Set<String>

    /// Reads a users file and tries its hashes, on the file pool.
    ///
    /// - Parameter former: the table that a reload of the file replaces. Its costs are not tried again. Without one, a
    ///   file without users is rejected, unless it says so and a running gateway reloads its configuration.
    static func load(
        _ file: String, context: PluginContext, replacing former: UserTable? = nil
    ) async throws(ConfigurationError) -> UserTable {
        let (names, isReload) = (context.names, context.isReload)
        let result: Result<UserTable, ConfigurationError>
        do {
            result = try await context.filePool.run {
                read(file, names: names, replacing: former, isReload: isReload)
            }
        } catch {
            throw ConfigurationError(file: file, "was not read: the queue of the file threads is full; try again")
        }
        return try result.get()
    }

    /// Reads a users file and tries its hashes. Blocks.
    private static func read(
        _ file: String, names: NameRules, replacing former: UserTable?, isReload: Bool
    ) -> Result<UserTable, ConfigurationError> {
        let problems = ConfigurationProblems()
        do throws(ConfigurationProblem) {
            let text = try SecretFile.text(at: file, remedy: "notify-gateway users add NAME")
            let version = FileVersion(of: file, text: text)
            let document = UsersDocument(text, file: file, names: names, problems: problems)
            if problems.all.isEmpty, document.records.isEmpty {
                let isDeclared = document.declaresNoUsers
                if former != nil || (isReload && isDeclared) {
                    return .success(UserTable(declaredEmpty: isDeclared, version, decoys: former?.hashes ?? []))
                }
                problems.add(
                    ConfigurationProblem(
                        at: SourceLocation(file: file), path: "", noUsers(in: file, isReload: isReload)))
            }
            if problems.all.isEmpty {
                checkSupport(of: document.records, besides: former?.supportedCosts ?? [], problems: problems)
            }
            guard problems.all.isEmpty else { return .failure(ConfigurationError(problems.all)) }
            let table = UserTable(document.records, version)
            // A missing fingerprint would look like a removed account, and the user would lose every session.
            guard table.fingerprints.count == table.users.count else {
                return .failure(ConfigurationError(file: file, "the system's libcrypto cannot compute SHA-256"))
            }
            return .success(table)
        } catch {
            return .failure(ConfigurationError([error]))
        }
    }

    /// Tries one hash of each cost. The grammar has checked every hash already; the trial shows whether this libcrypt
    /// supports the cost parameters. Trying all hashes would delay a start with thousands of users by minutes.
    private static func checkSupport(
        of records: [UserRecord], besides known: Set<String>, problems: ConfigurationProblems
    ) {
        var tried = known
        for record in records where tried.insert(record.hash.costKey).inserted {
            do { try record.hash.checkSupport() } catch {
                problems.add(
                    ConfigurationProblem(
                        at: record.hashLocation, path: "users.\(record.name).hash", error.description))
            }
        }
    }

    /// Returns the problem of a file without users, with what to do.
    private static func noUsers(in file: String, isReload: Bool) -> String {
        guard isReload else { return "has no users; add one with `notify-gateway users add NAME`" }
        let text = UsersDocument.isHtpasswd(file) ? UsersDocument.noUsersLine : "users: {}"
        return "has no users; to end the access of all users, write `\(text)` into it, as `notify-gateway users "
            + "remove NAME` does for the last one"
    }

    /// Creates a table without users.
    private init(declaredEmpty isDeclared: Bool, _ version: FileVersion, decoys: [PasswordHash]) {
        (users, isDeclaredEmpty, hashes, fingerprints, supportedCosts) = ([:], isDeclared, decoys, [:], [])
        self.version = version
    }

    /// Returns the number of users of `former` from whom this table takes something: the account, a group, or the
    /// password. One whose account is not disabled any more, or expires at another time, counts too, because a setting
    /// may be missing.
    func losses(since former: UserTable) -> Int {
        former.users.values.count { old in
            guard let new = users[old.name] else { return true }
            return new.hash.text != old.hash.text || !new.groups.isSuperset(of: old.groups)
                || new.isDisabled != old.isDisabled || new.expires != old.expires
        }
    }

    private init(_ records: [UserRecord], _ version: FileVersion) {
        isDeclaredEmpty = false
        self.version = version
        users = Dictionary(
            uniqueKeysWithValues: records.map { record in
                let user = User(
                    name: record.canonicalName, hash: record.hash, groups: Set(record.groups),
                    isDisabled: record.isDisabled, expires: record.expires)
                // The document rejects duplicate canonical names.
                return (record.canonicalName, user)
            })
        supportedCosts = Set(records.map(\.hash.costKey))
        hashes = users.values.sorted { $0.name < $1.name }.map(\.hash)
        fingerprints = users.compactMapValues { AccountFingerprint(ofHash: $0.hash.text) }
    }
}

/// A user of the users file.
public struct UserRecord: Sendable {
    /// The name as written in the file.
    public let name: String
    /// The password's hash.
    public internal(set) var hash: PasswordHash
    /// The user's groups, to which policies and limits refer.
    public internal(set) var groups: [GroupName]
    /// Whether logins are rejected even with the correct password.
    public internal(set) var isDisabled: Bool
    /// The time from which logins are rejected even with the correct password.
    public internal(set) var expires: WallTime?

    /// The canonical name, by which the gateway knows the user.
    public let canonicalName: UserName
    let hashLocation: SourceLocation

    init(
        name: String, canonicalName: UserName, hash: PasswordHash, hashLocation: SourceLocation,
        groups: [GroupName] = [], isDisabled: Bool = false, expires: WallTime? = nil
    ) {
        self.name = name
        self.canonicalName = canonicalName
        self.hash = hash
        self.hashLocation = hashLocation
        self.groups = groups
        self.isDisabled = isDisabled
        self.expires = expires
    }
}
