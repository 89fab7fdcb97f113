import Gateway
import GatewayCore
import GatewayStore
import GatewaySupport
import GatewayTesting
import Logging
import NIOPosix
import StaticUsers
import Testing

@testable import GatewayConfiguration
@testable import GatewayOperations

extension AccountMonitorTests {
    private static let (alice, bob) = (AccountFixture.alice, AccountFixture.bob)
    private static let hash = "$5$rounds=1000$bob$cr6R9EWEuhFKkx1neuJY8.iqd.V7.VzOb7/ApSr1wV0"
    private static let otherHash = "$5$rounds=1000$alice$20.kuhUgjZX.hvUjrGqQVL1XUbt.G8CccOg9cU1M3/3"

    /// Returns the account lists of a configuration's authenticators.
    private static func lists(_ authenticators: String, in files: TestFiles) async throws -> [ScopedAccountList] {
        let (configuration, problems) = ConfigurationFile.read(
            "authenticators: [\(authenticators)]\nbackend: { url: embedded }\npolicy: { send: [] }\n",
            file: "gateway.yaml", directory: files.path, catalog: PluginCatalog([StaticUsersPlugin.self]))
        let assembly = AuthenticatorAssembly(
            plugins: try #require(configuration, "\(problems)").authenticators, names: NameRules(),
            pool: BlockingPool(threads: .singleton, capacity: 4), clocks: .system,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        return try await assembly.make(revocations: EmptyRevocationList()).lists
    }

    private static func register(_ user: UserName, on bench: AccountFixture) async throws {
        let id = RegistrationID("1-1-1")!  // A valid id.
        let handle = try HandleRules().handle(String(repeating: "A", count: 32), of: .apns)
        let now = bench.clock.clocks.wall()
        let account = Account(user: user, login: LoginName(user.text), authenticator: "static-users")
        let claim = try await bench.ledger.begin(
            .update(user: user, label: id, handle: handle, account: account), now: now)
        try await bench.ledger.finish(claim, with: .registered(id, replacing: nil), now: now)
    }

    @Test(
        "A user removed from the users file loses session and device although another file, for other names, has the name"
    )
    func removedFromOneFile() async throws {
        let files = try TestFiles()
        try files.write("svc-mail:\(Self.hash)\nbob:\(Self.otherHash)\n", to: "services.htpasswd")
        try files.write(
            "users: { bob: { hash: \"\(Self.hash)\" }, carol: { hash: \"\(Self.hash)\" } }", to: "users.yaml")
        let lists = try await Self.lists(
            #"{ static-users: { file: services.htpasswd, users: ["svc-*"] } }, "#
                + #"{ static-users: { file: users.yaml, users: ["bo*", carol] } }"#, in: files)
        let bench = try AccountFixture(TestFiles(), lists: lists)
        await bench.watch.compare()
        let session = try await bench.login(Self.bob)
        try await Self.register(Self.bob, on: bench)
        try files.write("users: { carol: { hash: \"\(Self.hash)\" } }", to: "users.yaml")
        for list in lists {
            while await !list.list.reload().isEmpty {}
        }
        await bench.watch.listsHaveChanged()
        await bench.watch.compare()
        #expect(bench.sessions.session(session) == nil)
        #expect(try await bench.ledger.registrations(of: Self.bob).allSatisfy { $0.state != .live })
        #expect(bench.journal.records.map(\.result) == ["account-ended"])
    }

    @Test("The last user who is removed from the users file loses the session and the device")
    func lastUser() async throws {
        let files = try TestFiles()
        let path = try files.write("users: { bob: { hash: \"\(Self.hash)\" } }", to: "users.yaml")
        let lists = try await Self.lists("{ static-users: { file: users.yaml } }", in: files)
        let bench = try AccountFixture(TestFiles(), lists: lists)
        await bench.watch.compare()
        let session = try await bench.login(Self.bob)
        try await Self.register(Self.bob, on: bench)
        try UsersFile.edit(path, names: NameRules()) { users throws(ConfigurationError) in try users.remove("bob") }
        for list in lists {
            while await !list.list.reload().isEmpty {}
        }
        await bench.watch.listsHaveChanged()
        await bench.watch.compare()
        #expect(bench.sessions.session(session) == nil)
        #expect(try await bench.ledger.registrations(of: Self.bob).allSatisfy { $0.state != .live })
    }

    @Test("The first list that contains a name decides about it, even if the account is disabled there")
    func firstListDecides() async throws {
        let (first, second) = (ScriptedAccountList(), ScriptedAccountList())
        let bench = try AccountFixture(
            TestFiles(),
            lists: [ScopedAccountList(name: "list", list: first), ScopedAccountList(name: "list", list: second)])
        let sales = GroupName("sales")!  // A valid name.
        second.put([Self.alice: [sales], Self.bob: [sales]])
        first.list([Self.alice: "a", Self.bob: "b"])
        second.list([Self.alice: "other", Self.bob: "other"])
        await bench.watch.compare()
        let (disabled, moved) = (try await bench.login(Self.alice), try await bench.login(Self.bob))
        let now = bench.clock.clocks.wall()
        let reference = TokenReference(id: "t", session: moved, issued: now, expires: now)
        #expect(bench.sessions.groups(behind: reference, of: Self.bob) == [])
        // The second list has another account of each name. Neither keeps the session of the first list's account.
        first.list([:])
        first.close([Self.alice])
        await bench.watch.listsHaveChanged()
        await bench.watch.compare()
        #expect(bench.sessions.session(disabled) == nil && bench.sessions.session(moved) == nil)
        #expect(
            Dictionary(uniqueKeysWithValues: bench.journal.records.map { ($0.facts?.user, $0.result) })
                == [Self.alice: "account-ended", Self.bob: "password-changed"])
    }

    @Test("An account whose groups or name leave the scope of its authenticator has ended")
    func scope() async throws {
        let (sales, dispatch) = (GroupName("sales")!, GroupName("dispatch")!)  // Valid names.
        let list = ScriptedAccountList()
        func scoped(_ users: String) throws -> ScopedAccountList {
            let scope = AuthenticatorScope(
                users: [try #require(NamePattern(users, names: NameRules()))], groups: [sales])
            return ScopedAccountList(name: "list", scope: scope, list: list)
        }
        let bench = try AccountFixture(TestFiles(), lists: [try scoped("*")])
        list.list([Self.alice: "a", Self.bob: "b"])
        list.put([Self.alice: [sales]])
        await bench.watch.compare()
        let (first, second) = (try await bench.login(Self.alice), try await bench.login(Self.bob))
        list.put([Self.alice: [sales, dispatch]])
        await bench.watch.listsHaveChanged()
        await bench.watch.compare()
        #expect(bench.sessions.session(first) == nil && bench.sessions.session(second) != nil)
        await bench.watch.watch([try scoped("a*")])
        await bench.watch.compare()
        #expect(bench.sessions.session(second) == nil)
        #expect(bench.journal.records.map(\.result) == ["account-ended", "account-ended"])
    }
}
