import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import StaticUsers
import Testing

@Suite("Editing the users file")
struct UsersFileTests {
    @Test("A new file is private, and an added user can log in")
    func creating() async throws {
        let files = try TestFiles()
        let path = files.path + "/users.yaml"
        var file = try UsersFile.load(path, names: NameRules())
        #expect(file.users.isEmpty)
        try file.add("alice", passwordHash: Hashes.sha512, groups: [try #require(GroupName("dispatch"))])
        try file.add("Bob \"the\" Builder@x".replacing(" \"the\" ", with: "."), passwordHash: Hashes.bcrypt)
        try file.write()
        #expect(try files.mode(of: "users.yaml") == 0o600)
        #expect(try files.names() == ["users.yaml"])
        #expect(
            try files.text(of: "users.yaml") == """
                users:
                  "alice": { hash: "\(Hashes.sha512)", groups: ["dispatch"] }
                  "Bob.Builder@x": { hash: "\(Hashes.bcrypt)" }

                """)
        let authenticator = try await StaticUsersPlugin.makeAuthenticator(
            .init(file: path), context: PluginContext.test())
        guard case .accepted = await authenticator.login("bob.builder@X", "correct horse") else {
            Issue.record("what was added cannot log in")
            return
        }
    }

    /// The file has the names of accounts, which are taken literally; a command means a user, in either spelling.
    @Test("A command finds a user by the account's name and by the canonical name")
    func escapedNames() async throws {
        let files = try TestFiles()
        let path = files.path + "/users.yaml"
        let hex = NameRules(escaping: .hex)
        var file = try UsersFile.load(path, names: hex)
        try file.add("zo_xc3_xab", passwordHash: Hashes.sha512)
        try file.add("zo_x5fxc3_x5fxab", passwordHash: Hashes.sha512)
        try file.add("max_xavier", passwordHash: Hashes.sha512)
        #expect(file.users.map(\.name) == ["zo\u{EB}", "zo_xc3_xab", "max_xavier"])
        #expect(file.users.map(\.canonicalName.text) == ["zo_xc3_xab", "zo_x5fxc3_x5fxab", "max_x5fxavier"])
        for name in ["zo\u{EB}", "zo_xc3_xab", "max_x5fxavier", "max_xavier"] {
            #expect(throws: ConfigurationError.self, "\(name)") { try file.add(name, passwordHash: Hashes.sha512) }
        }
        try file.setHash(Hashes.bcrypt, for: "zo_xc3_xab")
        try file.write()
        let authenticator = try await StaticUsersPlugin.makeAuthenticator(
            .init(file: path), context: PluginContext.test(names: hex))
        for (login, user) in [("zo\u{CB}", "zo_xc3_xab"), ("zo_xc3_xab", "zo_x5fxc3_x5fxab")] {
            guard case .accepted(let identity) = await authenticator.login(login, "correct horse", names: hex) else {
                Issue.record("\(login) cannot log in")
                continue
            }
            #expect(identity.user.text == user)
        }
        file = try UsersFile.load(path, names: hex)
        #expect(file.users[0].hash.text == Hashes.bcrypt)
        try file.remove("zo_xc3_xab")
        #expect(file.users.map(\.canonicalName.text) == ["zo_x5fxc3_x5fxab", "max_x5fxavier"])
    }

    @Test("In a set-group-ID directory the group can read a new file")
    func sharedDirectory() throws {
        let files = try TestFiles()
        let directory = files.path + "/shared"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o2750], ofItemAtPath: directory)
        var file = try UsersFile.load(directory + "/users.yaml", names: NameRules())
        try file.add("alice", passwordHash: Hashes.sha512)
        try file.write()
        #expect(try files.mode(of: "shared/users.yaml") == 0o640)
        #expect(try UsersFile.load(directory + "/users.yaml", names: NameRules()).users.count == 1)
    }

    @Test("Every setting of a user is kept; comments are lost")
    func roundTrip() throws {
        let files = try TestFiles()
        let path = try files.write(
            """
            users: # a comment
              b: { hash: "\(Hashes.sha512)", disabled: true, expires: 2027-01-31T01:00:00+01:00 }
              "007": { hash: "\(Hashes.bcrypt)", groups: ["1", x] }
            """, mode: 0o640)
        var file = try UsersFile.load(path, names: NameRules())
        #expect(file.users.map(\.name) == ["b", "007"])
        try file.setHash(Hashes.yescrypt, for: "B")
        try file.write()
        let again = try UsersFile.load(path, names: NameRules())
        #expect(again.users.map(\.hash.text) == [Hashes.yescrypt, Hashes.bcrypt])
        #expect(again.users.map(\.isDisabled) == [true, false])
        #expect(again.users.map(\.expires) == [WallTime(rfc3339: "2027-01-31T00:00:00Z"), nil])
        #expect(again.users.map { $0.groups.map(\.text) } == [[], ["1", "x"]])
        // A gateway that reads the file through its group still can.
        #expect(try files.mode(of: "users.yaml") == 0o640)
    }

    @Test("Users can be removed down to an empty file")
    func removing() throws {
        let files = try TestFiles()
        let path = try files.write("users: { a: { hash: \"\(Hashes.sha512)\" }, b: { hash: \"\(Hashes.sha512)\" } }")
        var file = try UsersFile.load(path, names: NameRules())
        try file.remove("A")
        #expect(file.users.map(\.name) == ["b"])
        try file.remove("b")
        try file.write()
        #expect(try files.text(of: "users.yaml") == "users: {}\n")
        #expect(try UsersFile.load(path, names: NameRules()).users.isEmpty)
    }

    @Test("An impossible edit is rejected with its reason")
    func rejections() throws {
        let files = try TestFiles()
        let path = try files.write("users: { Alice: { hash: \"\(Hashes.sha512)\" } }")
        var file = try UsersFile.load(path, names: NameRules())
        func says(_ work: () throws -> Void) -> String? {
            #expect(throws: ConfigurationError.self, performing: work)?.description.replacing(
                files.path + "/", with: "")
        }
        #expect(
            says { try file.add("alice", passwordHash: Hashes.sha512) } == "users.yaml: already has the user \"Alice\"")
        #expect(
            says { try file.add("a:b", passwordHash: Hashes.sha512) }
                == "users.yaml: \"a:b\" is not a user name: in lower case, 1 to 111 of a-z 0-9 _ @ . -")
        #expect(says { try file.remove("bob") } == "users.yaml: has no user \"bob\"")
        #expect(says { try file.setHash(Hashes.sha512, for: "a,b") } == "users.yaml: has no user \"a,b\"")
        #expect(
            says { try file.add("bob", passwordHash: "hunter2") }?
                .hasPrefix("users.yaml: the new hash is plain text or an unknown hash;") == true)
        #expect(file.users.map(\.name) == ["Alice"])
    }

    @Test("An invalid file cannot be edited")
    func broken() throws {
        let files = try TestFiles()
        let path = try files.write("users: { a: { hash: hunter2 }, b: {} }")
        let fault = #expect(throws: ConfigurationError.self) { try UsersFile.load(path, names: NameRules()) }
        #expect(fault?.problems.count == 2)
        let open = try files.write("users: {}", to: "open.yaml", mode: 0o644)
        #expect(throws: ConfigurationError.self) { try UsersFile.load(open, names: NameRules()) }
    }

    @Test("An edit does not overwrite a change of another process")
    func concurrentChange() throws {
        let files = try TestFiles()
        let path = try files.write("users: { a: { hash: \"\(Hashes.sha512)\" } }")
        var mine = try UsersFile.load(path, names: NameRules())
        var theirs = try UsersFile.load(path, names: NameRules())
        try theirs.add("b", passwordHash: Hashes.sha512)
        try theirs.write()
        try mine.add("c", passwordHash: Hashes.sha512)
        #expect(throws: ConfigurationError.self) { try mine.write() }
        #expect(try UsersFile.load(path, names: NameRules()).users.map(\.name) == ["a", "b"])
        #expect(try files.names() == ["users.yaml"])
    }

    @Test("An htpasswd file keeps its format")
    func htpasswd() throws {
        let files = try TestFiles()
        let path = try files.write("alice:\(Hashes.bcrypt)\n", to: "users.htpasswd")
        var file = try UsersFile.load(path, names: NameRules())
        try file.add("bob", passwordHash: Hashes.sha512)
        #expect(throws: ConfigurationError.self) {
            try file.add("carol", passwordHash: Hashes.sha512, groups: [try #require(GroupName("x"))])
        }
        try file.write()
        #expect(try files.text(of: "users.htpasswd") == "alice:\(Hashes.bcrypt)\nbob:\(Hashes.sha512)\n")
    }

    @Test("A symbolic link stays a symbolic link")
    func symbolicLink() throws {
        let files = try TestFiles()
        _ = try files.write("users: { a: { hash: \"\(Hashes.sha512)\" } }", to: "real.yaml")
        try FileManager.default.createSymbolicLink(
            atPath: files.path + "/users.yaml", withDestinationPath: "real.yaml")
        var file = try UsersFile.load(files.path + "/users.yaml", names: NameRules())
        try file.setHash(Hashes.bcrypt, for: "a")
        try file.write()
        #expect(try files.text(of: "real.yaml").contains(Hashes.bcrypt))
        #expect(
            try FileManager.default.destinationOfSymbolicLink(atPath: files.path + "/users.yaml") == "real.yaml")
    }
}
