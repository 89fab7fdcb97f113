import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import StaticUsers

@Suite("Logins with static users")
struct StaticUsersAuthenticatorTests {
    private static let users = """
        users:
          alice: { hash: "\(Hashes.sha512)", groups: [dispatch] }
          Bob: { hash: "\(Hashes.otherSHA512)", disabled: true }
          carol: { hash: "\(Hashes.sha256)", expires: 2026-11-21T07:00:00Z }
          dave: { hash: "\(Hashes.bcrypt)", expires: 2026-11-21T07:00:01Z, disabled: false }
        """

    private func authenticator(_ context: PluginContext = PluginContext.test()) async throws -> any Authenticator {
        let files = try TestFiles()
        let file = try files.write(Self.users)
        return try await StaticUsersPlugin.makeAuthenticator(.init(file: file), context: context)
    }

    @Test("The correct password yields the canonical user with groups")
    func right() async throws {
        let authenticator = try await authenticator()
        let alice = Identity(
            user: try #require(UserName(canonical: "alice")), groups: [try #require(GroupName("dispatch"))],
            authenticator: "static-users")
        #expect(await authenticator.login("alice", "correct horse") == .accepted(alice))
        #expect(await authenticator.login("ALICE", "correct horse") == .accepted(alice))
        guard case .accepted(let dave) = await authenticator.login("dave", "correct horse") else {
            Issue.record("dave expires in a second")
            return
        }
        #expect(dave.user.text == "dave")
        #expect(dave.groups.isEmpty)
    }

    @Test("A wrong password, a disabled or expired account and an unknown name are rejected")
    func refused() async throws {
        let authenticator = try await authenticator()
        #expect(await authenticator.login("alice", "wrong") == .rejected(.wrong))
        #expect(await authenticator.login("bob", "correct horse") == .rejected(.disabled))
        #expect(await authenticator.login("bob", "wrong") == .rejected(.wrong))
        #expect(await authenticator.login("carol", "correct horse") == .rejected(.expired))
        #expect(await authenticator.login("carol", "wrong") == .rejected(.wrong))
        // Every hash of the file belongs to `correct horse`, so this password matches every decoy. No unknown name
        // may log in with it.
        for name in ["nobody", "mallory", "", "alice ", "alice\u{0}", "al\u{131}ce", "name,with", "ａlice"] {
            #expect(await authenticator.login(name, "correct horse") == .rejected(.wrong), "\(name)")
        }
    }

    @Test("A password that crypt(3) would truncate or cannot process is rejected")
    func awkwardPasswords() async throws {
        let authenticator = try await authenticator()
        #expect(await authenticator.login("alice", "") == .rejected(.malformed))
        #expect(await authenticator.login("alice", "correct horse\u{0}battery") == .rejected(.malformed))
        #expect(await authenticator.login("alice", "\u{0}") == .rejected(.malformed))
        #expect(await authenticator.login("alice", [UInt8](repeating: 0x61, count: 1025)) == .rejected(.malformed))
        #expect(await authenticator.login("alice", [UInt8](repeating: 0x61, count: 1024)) == .rejected(.wrong))
        #expect(await authenticator.login("nobody", [UInt8](repeating: 0x61, count: 1024)) == .rejected(.wrong))
        #expect(await authenticator.login("alice", [UInt8](repeating: 0x61, count: 65_536)) == .rejected(.malformed))
        #expect(await authenticator.login("alice", [0xFF, 0xFE, 0x80]) == .rejected(.wrong))
    }

    @Test("A name that the file lacks is left to a later authenticator, if there is one")
    func notMine() async throws {
        let authenticator = try await authenticator(PluginContext.test(isLastOfItsKind: false))
        #expect(await authenticator.login("nobody", "correct horse") == .notMine)
        #expect(await authenticator.login("name,with", "correct horse") == .notMine)
        #expect(await authenticator.login("bob", "correct horse") == .rejected(.disabled))
        #expect(await authenticator.login("alice", "wrong") == .rejected(.wrong))
        let bearer = Credential.bearer(token: Secret("x".utf8))
        guard case .notMine = await authenticator.authenticate(bearer, from: Peer(address: .local, text: "unix")) else {
            Issue.record("a token is not a password")
            return
        }
    }

    @Test("With a full pool the result is unavailable, for known and unknown names alike")
    func busy() async throws {
        let files = try TestFiles()
        let file = try files.write(Self.users)
        let table = try await UserTable.load(file, context: PluginContext.test())
        let authenticator = StaticUsersAuthenticator(
            table, settings: .init(file: file), context: PluginContext.test(capacity: 0))
        #expect(await authenticator.login("alice", "correct horse") == .unavailable(.busy))
        #expect(await authenticator.login("nobody", "correct horse") == .unavailable(.busy))
        let problems = await authenticator.reload()
        #expect(problems.map(\.message) == ["was not read: the queue of the file threads is full; try again"])
    }

    @Test("A reload replaces the users, and an invalid file keeps them")
    func reloading() async throws {
        let files = try TestFiles()
        let file = try files.write(Self.users)
        let made = try await StaticUsersPlugin.makeAuthenticator(.init(file: file), context: PluginContext.test())
        let authenticator = try #require(made as? StaticUsersAuthenticator)
        _ = try files.write("users: { alice: { hash: hunter2 } }")
        #expect(await authenticator.reload().count == 1)
        #expect(await authenticator.login("alice", "correct horse") != .rejected(.wrong))
        _ = try files.write("users: { zoe: { hash: \"\(Hashes.yescrypt)\" } }")
        try await authenticator.settle(afterLosses: 4)
        #expect(await authenticator.login("alice", "correct horse") == .rejected(.wrong))
        guard case .accepted = await authenticator.login("zoe", "correct horse") else {
            Issue.record("zoe is in the new file")
            return
        }
    }

    @Test(
        "A reloaded file that is merely empty rejects everyone with the same work, once enough reloads in a row find it",
        arguments: ["", "users:\n", "# users: {}\n"])
    func emptied(text: String) async throws {
        let files = try TestFiles()
        let file = try files.write(Self.users)
        let made = try await StaticUsersPlugin.makeAuthenticator(.init(file: file), context: PluginContext.test())
        let authenticator = try #require(made as? StaticUsersAuthenticator)
        _ = try files.write(text)
        // The file may be in the middle of a write.
        #expect(await authenticator.reload().count == 1)
        #expect(await authenticator.login("alice", "correct horse") != .rejected(.wrong))
        _ = try files.write(Self.users)
        #expect(await authenticator.reload() == [])
        _ = try files.write(text)
        try await authenticator.settle(afterLosses: 4)
        #expect(await authenticator.reload() == [])
        for name in ["alice", "bob", "nobody"] {
            #expect(await authenticator.login(name, "correct horse") == .rejected(.wrong))
        }
        #expect(authenticator.accounts(at: .test) == AccountSnapshot(fingerprints: [:]))
        await #expect(throws: ConfigurationError.self) {
            _ = try await StaticUsersPlugin.makeAuthenticator(.init(file: file), context: PluginContext.test())
        }
        _ = try files.write(Self.users)
        #expect(await authenticator.reload() == [])
        #expect(await authenticator.login("alice", "correct horse") != .rejected(.wrong))
    }

    @Test(
        "A file from which the last user was removed takes effect at once, and a reload of the configuration accepts it",
        arguments: ["users.yaml", "users.htpasswd"])
    func lastUserRemoved(name: String) async throws {
        let files = try TestFiles()
        let file = try files.write(
            name.hasSuffix("yaml") ? Self.users : "alice:\(Hashes.sha512)\nbob:\(Hashes.sha512)\n", to: name)
        let settings = StaticUsersPlugin.Settings(file: file)
        let made = try await StaticUsersPlugin.makeAuthenticator(settings, context: PluginContext.test())
        let authenticator = try #require(made as? StaticUsersAuthenticator)
        try UsersFile.edit(file, names: NameRules()) { users throws(ConfigurationError) in
            for user in users.users { try users.remove(user.name) }
        }
        #expect(await authenticator.reload() == [])
        #expect(authenticator.accounts(at: .test) == AccountSnapshot(fingerprints: [:], isDeclaredEmpty: true))
        #expect(await authenticator.login("alice", "correct horse") == .rejected(.wrong))

        let reload = PluginContext.test(isReload: true)
        let problems = await StaticUsersPlugin.problems(in: settings, context: reload)
        #expect(problems.map(\.severity) == [.warning])
        let remade = try await StaticUsersPlugin.makeAuthenticator(settings, context: reload)
        for name in ["alice", "nobody"] {
            #expect(await remade.login(name, "correct horse") == .rejected(.wrong))
        }
        // A start rejects the file, and a reload rejects a file that another program has truncated.
        #expect(await StaticUsersPlugin.problems(in: settings, context: .test()).map(\.severity) == [.error])
        try files.write("", to: name)
        let truncated = await StaticUsersPlugin.problems(in: settings, context: reload)
        #expect(truncated.map(\.severity) == [.error])
        #expect(truncated.first?.message.contains("to end the access of all users, write `") == true)
        // The next user can log in.
        try UsersFile.edit(file, names: NameRules()) { users throws(ConfigurationError) in
            try users.add("zoe", passwordHash: Hashes.yescrypt)
        }
        #expect(await (remade as? StaticUsersAuthenticator)?.reload() == [])
        #expect(await remade.login("zoe", "correct horse") != .rejected(.wrong))
    }

    @Test("Making the authenticator throws if the file cannot be read")
    func makingThrows() async throws {
        await #expect(throws: ConfigurationError.self) {
            _ = try await StaticUsersPlugin.makeAuthenticator(
                .init(file: "/nonexistent/users.yaml"), context: PluginContext.test())
        }
    }

    @Test(
        "Hostile strings as user name and as password are never accepted and never crash",
        .enabled(if: !TestData.naughtyStrings.isEmpty))
    func naughtyStrings() async throws {
        let strings = TestData.naughtyStrings
        #expect(strings.count > 500)
        let authenticator = try await authenticator()
        for string in strings {
            let asUser = await authenticator.login(string, "correct horse")
            #expect(asUser == .rejected(.wrong), "\(string)")
            let asPassword = await authenticator.login("alice", string)
            #expect([.rejected(.wrong), .rejected(.malformed)].contains(asPassword), "\(string)")
        }
    }
}
