internal import GatewayCore
internal import SecretFiles

/// The users that logins are judged by: a users file that was found good.
struct UserTable: Sendable {
    /// One user, ready to be looked up.
    struct User: Sendable {
        let name: UserName
        let hash: PasswordHash
        let groups: Set<GroupName>
        let isDisabled: Bool
        let expires: WallTime?

        /// Why even the right password is refused, or nil.
        func bar(at now: WallTime) -> RejectionReason? {
            if isDisabled { return .disabled }
            return expires.map { $0 <= now } == true ? .expired : nil
        }
    }

    /// By canonical name; never empty.
    let users: [UserName: User]
    /// Every user's hash, in the order of the names: what decoys are picked from, in the file's own proportions.
    let hashes: [PasswordHash]
    /// What stands for each user's password, whether it may log in or not.
    let marks: [UserName: AccountMark]
    /// The costs of which a hash was found to compute: they need no second trial when the file is read again.
    let triedCosts: Set<String>

    /// Reads and tries a users file on the file pool.
    ///
    /// - Parameter tried: the costs that need no trial.
    static func load(
        _ file: String, context: PluginContext, tried: Set<String> = []
    ) async throws(ConfigurationFault) -> UserTable {
        let names = context.names
        let result: Result<UserTable, ConfigurationFault>
        do {
            result = try await context.filePool.run { read(file, names: names, tried: tried) }
        } catch {
            throw ConfigurationFault(file: file, "was not read: too much other work is waiting")
        }
        return try result.get()
    }

    /// Reads and tries a users file. Blocks.
    private static func read(
        _ file: String, names: NameRules, tried: Set<String>
    ) -> Result<UserTable, ConfigurationFault> {
        let problems = ConfigurationProblems()
        do throws(ConfigurationProblem) {
            let text = try SecretFile.text(at: file, remedy: "notify-gateway users add NAME")
            let document = UsersDocument(text, file: file, names: names, problems: problems)
            if problems.all.isEmpty, document.records.isEmpty {
                problems.add(ConfigurationProblem(at: SourceLocation(file: file), path: "", "has no users"))
            }
            if problems.all.isEmpty { tryOut(document.records, besides: tried, problems: problems) }
            guard problems.all.isEmpty else { return .failure(ConfigurationFault(problems.all)) }
            let table = UserTable(document.records)
            // Whoever had no mark would pass for gone, and lose every session.
            guard table.marks.count == table.users.count else {
                return .failure(ConfigurationFault(file: file, "the system's libcrypto makes no SHA-256"))
            }
            return .success(table)
        } catch {
            return .failure(ConfigurationFault([error]))
        }
    }

    /// Tries one hash of each cost. The grammar has seen every hash to its last bit, so what is left to find out is what
    /// libcrypt here makes of the parameters; trying all would keep a start with thousands of users waiting for minutes.
    private static func tryOut(
        _ records: [UserRecord], besides known: Set<String>, problems: ConfigurationProblems
    ) {
        var tried = known
        for record in records where tried.insert(record.hash.costKey).inserted {
            do { try record.hash.tryOut() } catch {
                problems.add(
                    ConfigurationProblem(
                        at: record.hashLocation, path: "users.\(record.name).hash", error.description))
            }
        }
    }

    private init(_ records: [UserRecord]) {
        users = Dictionary(
            uniqueKeysWithValues: records.map { record in
                let user = User(
                    name: record.canonicalName, hash: record.hash, groups: Set(record.groups),
                    isDisabled: record.isDisabled, expires: record.expires)
                // The document keeps canonical names unique.
                return (record.canonicalName, user)
            })
        triedCosts = Set(records.map(\.hash.costKey))
        hashes = users.values.sorted { $0.name < $1.name }.map(\.hash)
        marks = users.compactMapValues { AccountMark(ofHash: $0.hash.text) }
    }
}
