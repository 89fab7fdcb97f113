public import GatewayCore
internal import Logging
internal import Synchronization

/// Judges passwords by the users file.
///
/// A hash costs milliseconds on purpose, so each one is computed on the blocking pool, never on the caller's loop. A name
/// that the file lacks costs what one that it has would cost, unless a later authenticator is asked about it.
public final class StaticUsersAuthenticator: AccountList {
    private let settings: StaticUsersPlugin.Settings
    private let context: PluginContext
    // Stays the same over reloads: a name that the file lacks keeps its decoy, and with it its duration.
    private let decoyDigester: KeyedDigester
    private let table: Mutex<UserTable>

    init(_ table: UserTable, settings: StaticUsersPlugin.Settings, context: PluginContext) {
        self.settings = settings
        self.context = context
        self.table = Mutex(table)
        var generator = SystemRandomNumberGenerator()
        let key = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        decoyDigester = KeyedDigester(key: Secret(key))
    }

    /// Judges a password. Resumes on the caller's loop after some milliseconds on the blocking pool.
    public func authenticate(_ credential: Credential, from peer: Peer) async -> AuthenticationOutcome {
        guard case .password(let login, let password) = credential else { return .notMine }
        let table = table.withLock { $0 }
        let user = context.names.canonical(login.text).flatMap { table.users[$0] }
        if user == nil, !context.isLastOfItsKind { return .notMine }
        guard Self.isPassword(password) else { return .rejected(.malformed) }
        // For known names too: the few microseconds that it takes would tell them apart.
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
        case .same: return user.map { verdict(on: $0, ifStill: hash) } ?? .rejected(.wrong)
        }
    }

    /// The users file.
    public var files: [String] { [settings.file] }

    /// Reads the users file again. Where it is good, logins from here on are judged by it; where it is not, the users stay
    /// as they were and the problems are the answer.
    public func reload() async -> [ConfigurationProblem] {
        do {
            let tried = table.withLock(\.triedCosts)
            let fresh = try await UserTable.load(settings.file, context: context, tried: tried)
            table.withLock { $0 = fresh }
            context.logger.info("users reloaded", metadata: ["users": "\(fresh.users.count)"])
            return []
        } catch {
            return error.problems
        }
    }

    /// What a right password gets. A login may have waited for a thread while the file was read again: what counts is what the
    /// file says now.
    private func verdict(on former: UserTable.User, ifStill hash: PasswordHash) -> AuthenticationOutcome {
        guard let user = table.withLock({ $0.users[former.name] }), user.hash.text == hash.text else {
            return .rejected(.wrong)
        }
        if let bar = user.bar(at: context.clocks.wall()) { return .rejected(bar) }
        return .accepted(Identity(user: user.name, groups: user.groups, authenticator: StaticUsersPlugin.name))
    }

    /// How the account stands by the users file.
    public func standing(of login: LoginName) async -> AccountStanding {
        let table = table.withLock { $0 }
        guard let user = context.names.canonical(login.text).flatMap({ table.users[$0] }) else {
            return .ended(.wrong)
        }
        return user.bar(at: context.clocks.wall()).map(AccountStanding.ended) ?? .good(groups: user.groups)
    }

    /// The users who may log in.
    public func accounts(at now: WallTime) -> AccountSnapshot {
        let table = table.withLock { $0 }
        let open = table.users.values.filter { $0.bar(at: now) == nil }
        return AccountSnapshot(
            marks: table.marks.filter { table.users[$0.key]?.bar(at: now) == nil },
            groups: Dictionary(uniqueKeysWithValues: open.map { ($0.name, $0.groups) }),
            holdsUntil: open.compactMap(\.expires).min())
    }

    /// A hash of the file for a name that it lacks, always the same one, which only the holder of the key could foretell.
    private func decoy(for login: LoginName, in table: UserTable) -> PasswordHash? {
        guard let digest = decoyDigester.digest(Array(login.text.utf8)) else { return nil }
        let number = digest.bytes.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        // A table has at least one hash: an empty file does not load.
        return table.hashes[Int(number % UInt64(table.hashes.count))]
    }

    /// A NUL would end the password early for crypt(3), and any continuation of a right password would be right.
    private static func isPassword(_ password: Secret) -> Bool {
        guard (1...1024).contains(password.count) else { return false }
        return password.withUnsafeBytes { !$0.contains(0) }
    }
}
