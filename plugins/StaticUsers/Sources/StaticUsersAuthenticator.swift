public import GatewayCore
public import GatewaySupport
internal import Logging
internal import Synchronization

/// The authenticator that verifies passwords against the users file.
/// Computing a hash takes milliseconds by design, so it runs on the blocking pool and never on the caller's event
/// loop. A login with an unknown name computes a decoy hash, so it takes as long as a login with a known name. The
/// decoy is skipped if a later authenticator also accepts passwords: that one receives the credential.
public final class StaticUsersAuthenticator: AccountList {
    private let settings: StaticUsersPlugin.Settings
    private let context: PluginContext
    // The key lives as long as the authenticator. A reload therefore leaves the decoy of an unknown name, and its
    // duration, unchanged.
    private let decoyDigester: KeyedDigester
    private let table: Mutex<UserTable>
    /// The state of a changed file that takes something from a user.
    private let settling = Mutex(FileSettling())

    init(_ table: UserTable, settings: StaticUsersPlugin.Settings, context: PluginContext) {
        self.settings = settings
        self.context = context
        self.table = Mutex(table)
        decoyDigester = KeyedDigester(key: Secret(RandomBytes.make(32)))
    }

    /// Verifies a password. Waits some milliseconds for the blocking pool, then resumes on the caller's executor.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        guard case .password(let login, let password) = credential else { return .notMine }
        let table = table.withLock { $0 }
        let user = context.names.canonical(login).flatMap { table.users[$0] }
        if user == nil, !context.isLastOfItsKind { return .notMine }
        guard Self.isPassword(password) else { return .rejected(.malformed) }
        // No name is known, so no difference in time can tell one.
        if table.hashes.isEmpty { return .rejected(.wrong) }
        // Computed for known names too; otherwise the few microseconds would distinguish them.
        guard let decoy = decoy(for: login, in: table) else { return .unavailable(.failed) }
        let hash = user?.hash ?? decoy
        let match: PasswordHash.Match
        do {
            match = try await context.blockingPool.run { hash.match(password) }
        } catch {
            return .unavailable(.busy)
        }
        switch match {
        case .undecided: return .unavailable(.failed)
        case .different: return .rejected(.wrong)
        case .same: return user.map { result(for: $0, ifStill: hash) } ?? .rejected(.wrong)
        }
    }

    /// The users file.
    public var files: [String] { [settings.file] }

    /// Reads the users file again. If the file is valid, later logins use it. If not, the current users stay in force
    /// and the problems are returned.
    ///
    /// A file that takes something from a user takes effect once enough reloads in a row find the same version
    /// (``FileSettling``), because another program may be in the middle of writing it. Until then a problem is returned, so
    /// the caller tries again. A file that says that it has no users takes effect at once, and ends all sessions and
    /// devices.
    public func reload() async -> [ConfigurationProblem] {
        do {
            let former = table.withLock { $0 }
            let fresh = try await UserTable.load(settings.file, context: context, replacing: former)
            let losses = fresh.isDeclaredEmpty ? 0 : fresh.losses(since: former)
            guard settling.withLock({ $0.counts(fresh.version, losses: losses) }) else {
                let users = "\(losses) user\(losses == 1 ? "" : "s")"
                return [
                    FileSettling.problem(of: settings.file, "takes the account, a group or the password from \(users)")
                ]
            }
            table.withLock { $0 = fresh }
            if fresh.users.isEmpty {
                context.logger.warning("Users file reloaded without users", metadata: ["file": "\(settings.file)"])
                return []
            }
            context.logger.info("Users file reloaded", metadata: ["users": "\(fresh.users.count)"])
            return []
        } catch {
            settling.withLock { _ = $0.counts(nil, losses: 0) }
            return error.problems
        }
    }

    /// Returns the result for a correct password, according to the current table. The file may have been reloaded
    /// while the login waited for a thread, so the user and the hash are looked up again.
    private func result(for former: UserTable.User, ifStill hash: PasswordHash) -> AuthenticationOutcome {
        guard let user = table.withLock({ $0.users[former.name] }), user.hash.text == hash.text else {
            return .rejected(.wrong)
        }
        if let reason = user.rejection(at: context.clocks.wall()) { return .rejected(reason) }
        return .accepted(Identity(user: user.name, groups: user.groups, authenticator: StaticUsersPlugin.name))
    }

    /// Returns whether the users file still lets the account log in, without a password.
    public func status(of login: LoginName) async -> AccountStatus {
        let table = table.withLock { $0 }
        guard let user = context.names.canonical(login).flatMap({ table.users[$0] }) else {
            return .ended(.wrong)
        }
        return user.rejection(at: context.clocks.wall()).map(AccountStatus.ended) ?? .valid(groups: user.groups)
    }

    /// Returns the users of the file, divided into those who may log in at the given time and the others.
    public func accounts(at now: WallTime) -> AccountSnapshot {
        let table = table.withLock { $0 }
        let open = table.users.values.filter { $0.rejection(at: now) == nil }
        return AccountSnapshot(
            fingerprints: table.fingerprints.filter { table.users[$0.key]?.rejection(at: now) == nil },
            groups: Dictionary(uniqueKeysWithValues: open.map { ($0.name, $0.groups) }),
            closed: Set(table.users.keys).subtracting(open.map(\.name)),
            validUntil: open.compactMap(\.expires).min(), isDeclaredEmpty: table.isDeclaredEmpty)
    }

    /// Returns the hash that stands in for the missing hash of an unknown name, or nil if libcrypto fails. A secret
    /// key selects it, so a name always has the same decoy and nobody outside can predict which one.
    private func decoy(for login: LoginName, in table: UserTable) -> PasswordHash? {
        guard let digest = decoyDigester.digest(Array(login.text.utf8)) else { return nil }
        let number = digest.bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // The caller has checked that the table has a hash.
        return table.hashes[Int(number % UInt64(table.hashes.count))]
    }

    /// Whether crypt(3) can process the password. crypt(3) stops at a NUL byte, so it would accept a correct password
    /// followed by a NUL and anything else.
    private static func isPassword(_ password: Secret) -> Bool {
        guard (1...1024).contains(password.count) else { return false }
        return password.withUnsafeBytes { !$0.contains(0) }
    }
}
