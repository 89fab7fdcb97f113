import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import StaticUsers
import Testing

@Suite("Users file")
struct UsersDocumentTests {
    /// Returns the problems as text, without the directory before the file's name.
    private func problems(
        _ text: String, in name: String = "users.yaml", mode: Int = 0o600, names: NameRules = NameRules()
    ) async throws -> [String] {
        let files = try TestFiles()
        let file = try files.write(text, to: name, mode: mode)
        let found = await StaticUsersPlugin.problems(in: .init(file: file), context: PluginContext.test(names: names))
        return found.map { withoutHint($0.description.replacing(files.path + "/", with: "")) }
    }

    /// Removes the list of known keys that the reader appends.
    private func withoutHint(_ problem: String) -> String {
        problem.range(of: "; known keys: ").map { String(problem[..<$0.lowerBound]) } ?? problem
    }

    @Test("A valid file has no problems")
    func good() async throws {
        let text = """
            # Comments are fine.
            users:
              alice: { hash: "\(Hashes.sha512)", groups: [dispatch, Night.Shift] }
              bob:
                hash: \(Hashes.bcrypt)
                disabled: true
                expires: 2027-01-31T00:00:00Z
              "42": { hash: "\(Hashes.yescrypt)", groups: [] }
            """
        #expect(try await problems(text) == [])
    }

    @Test("Every mistake is reported at once, each with its location")
    func mistakes() async throws {
        let text = """
            users:
              alice: { hash: "$1$saltsalt$qjXMvbEw8oaL.CzflDtaK/", groups: [ok, "no group"] }
              Bob: { hash: "\(Hashes.sha512)", expires: tomorrow }
              bob: { hash: "\(Hashes.sha512)", disabled: yes }
              "a,b": { hash: "\(Hashes.sha512)" }
              carol: { groups: dispatch, hsah: x }
              dave: hunter2
              eve: { hash: hunter2 }
              fred: { hash: "\(Hashes.bcrypt.replacing("$04$", with: "$99$"))" }
              gina: { hash: "" }
            groups: {}
            """
        let accepted =
            "accepted: yescrypt ($y$), bcrypt ($2a$, $2b$, $2y$), scrypt ($7$), sha512crypt ($6$) and sha256crypt ($5$)"
        let found = try await problems(text)
        #expect(
            found == [
                "users.yaml:2:18: users.alice.hash: is an MD5 hash; \(accepted)",
                "users.yaml:2:69: users.alice.groups[1]: is not a group name: use 1 to 64 of A-Z a-z 0-9 _ . -",
                "users.yaml:3:143: users.Bob.expires: is not an RFC 3339 time such as 2027-01-31T00:00:00Z",
                "users.yaml:4:144: users.bob.disabled: must be true or false",
                "users.yaml:4:3: users.bob: is the same user as \"Bob\" in line 3: both are \"bob\"",
                "users.yaml:5:3: users[3]: is not a user name: in lower case, 1 to 111 of a-z 0-9 _ @ . -",
                "users.yaml:6:10: users.carol: \"hash\" is missing",
                "users.yaml:6:20: users.carol.groups: must be a list",
                "users.yaml:6:30: users.carol: has an unknown key",
                "users.yaml:7:9: users.dave: must be a mapping of names to values",
                "users.yaml:7:9: users.dave: \"hash\" is missing",
                "users.yaml:8:16: users.eve.hash: is plain text or an unknown hash; \(accepted)",
                "users.yaml:9:17: users.fred.hash: has the bcrypt cost 99; allowed: 4 to 16",
                "users.yaml:10:17: users.gina.hash: must not be empty",
                "users.yaml:11:1: has an unknown key",
            ])
    }

    @Test(
        "A file without users is rejected",
        arguments: ["", "users:\n", "users: {}\n", "# nothing\n"])
    func empty(text: String) async throws {
        #expect(
            try await problems(text) == [
                "users.yaml: has no users; add one with `notify-gateway users add NAME`"
            ])
    }

    @Test("A file that is not a mapping, or not YAML, is rejected")
    func shapeless() async throws {
        #expect(try await problems("- alice\n") == ["users.yaml:1:1: must be a mapping of names to values"])
        #expect(
            try await problems("users: [alice]\n") == ["users.yaml:1:8: users: must be a mapping of names to values"])
        #expect(try await problems("users: {\n").count == 1)
        let twice = "users:\n  a: { hash: \"\(Hashes.sha512)\" }\n  a: { hash: \"\(Hashes.sha512)\" }\n"
        #expect(try await problems(twice).first?.contains("duplicate name") == true)
    }

    @Test("A file open to other users is rejected", arguments: [0o644, 0o604, 0o602, 0o620, 0o660, 0o666])
    func openFile(mode: Int) async throws {
        let text = "users: { a: { hash: \"\(Hashes.sha512)\" } }\n"
        #expect(
            try await problems(text, mode: mode) == [
                "users.yaml: has the mode 0\(String(mode, radix: 8)), which lets other users access it; run: chmod 640 users.yaml"
            ])
    }

    @Test("A file closed to other users is accepted", arguments: [0o600, 0o640, 0o400, 0o440, 0o700])
    func closedFile(mode: Int) async throws {
        #expect(try await problems("users: { a: { hash: \"\(Hashes.sha512)\" } }\n", mode: mode) == [])
    }

    @Test("A missing file, a directory and a file that is not UTF-8 are rejected")
    func absent() async throws {
        let files = try TestFiles()
        let absent = await StaticUsersPlugin.problems(
            in: .init(file: files.path + "/no.yaml"), context: PluginContext.test())
        #expect(
            absent.map(\.description) == [
                "\(files.path)/no.yaml: does not exist; put it back, or create it with `notify-gateway users add NAME`"
            ])
        let directory = await StaticUsersPlugin.problems(in: .init(file: files.path), context: PluginContext.test())
        #expect(directory.map(\.description) == ["\(files.path): is not a regular file"])
        let bytes = try files.write(Data([0x75, 0xFF, 0xFE]), to: "bytes.yaml")
        let notText = await StaticUsersPlugin.problems(in: .init(file: bytes), context: PluginContext.test())
        #expect(notText.map(\.description) == ["\(bytes): is not UTF-8"])
    }

    @Test("Two names that identity rules make equal are rejected")
    func strippedNames() async throws {
        let rules = NameRules(prefixes: ["EXAMPLE\\"])
        let text = """
            users:
              alice: { hash: "\(Hashes.sha512)" }
              "EXAMPLE\\\\Alice": { hash: "\(Hashes.sha512)" }
            """
        #expect(
            try await problems(text, names: rules) == [
                "users.yaml:3:3: users[1]: is the same user as \"alice\" in line 2: both are \"alice\""
            ])
    }

    @Test("htpasswd lines are read, and each mistake has its location")
    func htpasswd() async throws {
        let good = "# comment\n\nalice:\(Hashes.bcrypt)\r\nbob:\(Hashes.bcrypt):gecos\n"
        #expect(try await problems(good, in: "users.htpasswd") == [])
        let bad =
            "alice:\(Hashes.bcrypt)\nALICE:\(Hashes.bcrypt)\nbob:$apr1$x$qjXMvbEw8oaL.CzflDtaK/\n:x\nnothing\ncarol:pw\n"
        let accepted =
            "accepted: yescrypt ($y$), bcrypt ($2a$, $2b$, $2y$), scrypt ($7$), sha512crypt ($6$) and sha256crypt ($5$)"
        #expect(
            try await problems(bad, in: "x.htpasswd") == [
                "x.htpasswd:2:1: ALICE: is the same user as \"alice\" in line 1: both are \"alice\"",
                "x.htpasswd:3:5: bob: is an MD5 hash; \(accepted)",
                "x.htpasswd:4:1: must be a name, a colon and a hash",
                "x.htpasswd:5:1: must be a name, a colon and a hash",
                "x.htpasswd:6:7: carol: is plain text or an unknown hash; \(accepted)",
            ])
        #expect(
            try await problems("# no users\n", in: "x.htpasswd") == [
                "x.htpasswd: has no users; add one with `notify-gateway users add NAME`"
            ])
    }

    @Test(
        "No problem contains a hash that is in the wrong place",
        arguments: [
            "users:\n  alice: { hash:$y$j9T$SECRETsalt$hash }\n",
            "users:\n  alice:$y$j9T$SECRETsalt$hash:19000:0:99999:7::\n",
            "alice:$y$j9T$SECRETsalt$hash:\n", "users: { alice: { hash \"$y$j9T$SECRETsalt$hash\" } }\n",
            "users: { $y$SECRET: {}, $y$SECRET: {} }\n",
        ])
    func noHashes(_ text: String) async throws {
        let found = try await problems(text, names: NameRules(escaping: .hex))
        #expect(!found.isEmpty)
        #expect(!found.contains { $0.contains("SECRET") }, "\(found)")
        let lines = try await problems(
            "$y$SECRET:alice\n$y$SECRET:alice\n", in: "x.htpasswd", names: NameRules(escaping: .hex))
        #expect(!lines.contains { $0.contains("SECRET") }, "\(lines)")
    }

    @Test("The settings name the file and nothing else")
    func settings() throws {
        let problems = ConfigurationProblems()
        func read(_ text: String) throws -> StaticUsersPlugin.Settings? {
            let node = try YAMLDocument.parse(text, file: "gateway.yaml")
            let reader = ConfigurationReader(
                node, path: "authenticators[0].static-users", directory: "/etc/x", problems: problems)
            defer { reader.finish() }
            return StaticUsersPlugin.readSettings(reader)
        }
        #expect(try read("{ file: users.yaml }")?.file == "/etc/x/users.yaml")
        #expect(try read("{ file: /srv/u.htpasswd }")?.file == "/srv/u.htpasswd")
        #expect(problems.all.isEmpty)
        #expect(try read("{ flie: users.yaml }") == nil)
        #expect(
            problems.all.map { withoutHint($0.description) } == [
                "gateway.yaml:1:1: authenticators[0].static-users: \"file\" is missing",
                "gateway.yaml:1:3: authenticators[0].static-users.flie: is not a known key; did you mean `file`? known keys: file",
            ])
    }
}
