import Foundation
import GatewayTesting
import Testing

@Suite("Commands")
struct CommandTests {
    @Test("`check` prints each of five errors with its line and column, and exits with 1")
    func checkFindsAll() async throws {
        let directory = try TestFiles()
        try directory.write(
            """
            backend:
              url: nowhere
              timeout: soon
            authenticators:
              - static-users: {}
            policy:
              send:
                - { from: "*", to: "*", when: always }
              hand-over: maybe
            """, to: "gateway.yaml")
        let outcome = try await Program.run(["check", "--config", "gateway.yaml"], in: directory.path)
        #expect(outcome.status == 1)
        let places = outcome.output.split(separator: "\n").map { $0.split(separator: " ")[0] }
        #expect(
            places == [
                "gateway.yaml:2:8:", "gateway.yaml:3:12:", "gateway.yaml:5:19:", "gateway.yaml:8:29:",
                "gateway.yaml:9:14:",
            ])
        #expect(outcome.errors == "5 errors.\n")
    }

    @Test("A command whose output cannot be written reports an error and exits with 1")
    func fullDisk() async throws {
        let outcome = try await Program.execute("/bin/sh", ["-c", #"exec "$0" version > /dev/full"#, Program.path])
        #expect(outcome.status == 1)
        #expect(outcome.errors == "The result cannot be written to standard output.\n")
    }

    @Test("Control characters in files cannot control the terminal, nor forge a line of `check`")
    func terminalControls() async throws {
        let directory = try TestFiles()
        let gateway = """
            backend: { url: embedded }
            authenticators: [{ static-users: { file: users.yaml } }]
            policy: { send: [{ from: "*", to: "*" }] }

            """
        let hostile = #"listen: [{ address: "\e]0;owned\a\x9b31m\u202e\nforged" }]"#
        try directory.write(gateway + hostile + "\n", to: "gateway.yaml")
        try directory.write(#"users: { "eve\e[2J\u202e": { password: x } }"# + "\n", to: "users.yaml", mode: 0o600)
        func run(_ arguments: String...) async throws -> String {
            let outcome = try await Program.run(
                arguments + ["--config", "gateway.yaml"], input: "secret\n", in: directory.path)
            return outcome.output + outcome.errors
        }
        let check = try await run("check")
        #expect(check.contains(#"\u001b]0;owned\u0007\u009b31m\u202e\nforged"#), "\(check)")
        try directory.write(gateway, to: "gateway.yaml")
        for text in [
            check, try await run("check"), try await run("users", "list"), try await run("users", "add", "bob"),
        ] {
            #expect(!text.unicodeScalars.contains { $0 != "\n" && $0.properties.generalCategory == .control })
            #expect(!text.contains("\u{202E}"), "\(text)")
        }
    }

    @Test("The `users` commands add, list, change and remove users, and `check` accepts the file")
    func users() async throws {
        let directory = try TestFiles()
        try directory.write(
            """
            backend: { url: embedded }
            authenticators: [{ static-users: { file: users.yaml } }]
            policy: { send: [{ from: "*", to: "*" }] }
            """, to: "gateway.yaml")
        func run(_ arguments: String..., input: String = "") async throws -> Program.Outcome {
            try await Program.run(arguments + ["--config", "gateway.yaml"], input: input, in: directory.path)
        }
        #expect(try await run("check").status == 1)
        let missing = try await run("users", "list")
        #expect(missing.status == 1 && missing.errors.contains("does not exist"), "\(missing)")
        #expect(try await run("users", "add", "Alice", "--group", "staff", input: "correct horse\n").status == 0)
        #expect(try await run("users", "add", "alice", input: "another\n").status == 1)
        #expect(try await run("users", "add", "no/name", input: "x\n").status == 1)
        #expect(try await run("users", "add", "bob", input: "\n").status == 1)
        #expect(try await run("users", "list").output == "Alice\tstaff\n")
        #expect(try await run("users", "passwd", "alice", input: "battery staple\n").status == 0)
        #expect(try await run("users", "passwd", "nobody", input: "x\n").status == 1)
        let check = try await run("check")
        #expect(check.status == 0, "\(check.output)")
        let text = try String(contentsOfFile: directory.path + "/users.yaml", encoding: .utf8)
        #expect(text.contains("$y$") && !text.contains("staple"))
        let removed = try await run("users", "remove", "alice")
        #expect(removed.status == 0)
        #expect(removed.errors.contains("A running gateway ends all their sessions and devices"), "\(removed.errors)")
        #expect(try String(contentsOfFile: directory.path + "/users.yaml", encoding: .utf8) == "users: {}\n")
        #expect(try await run("check").output.contains("has no users; add one with `notify-gateway users add NAME`"))
        #expect(try await run("users", "remove", "alice").status == 1)
    }

    @Test("The gateway accepts an issued token, also after a key rotation")
    func tokens() async throws {
        let directory = try TestFiles()
        try directory.write(
            """
            backend: { url: embedded }
            authenticators:
              - hmac-token: { keys: token-keys.yaml, issuer: notify-gateway, audience: notify, lifetime: 1h }
            policy: { send: [{ from: "*", to: "*" }] }
            """, to: "gateway.yaml")
        func run(_ arguments: String...) async throws -> Program.Outcome {
            try await Program.run(arguments + ["--config", "gateway.yaml"], in: directory.path)
        }
        #expect(try await run("tokens", "issue", "--user", "alice").status == 1)
        #expect(try await run("keys", "rotate").status == 0)
        let first = try await run("tokens", "issue", "--user", "Svc-Mail", "--group", "staff")
        #expect(first.status == 0, "\(first.errors)")
        #expect(first.output.split(separator: ".").count == 3)
        #expect(try await run("keys", "rotate").status == 0)
        let keys = try String(contentsOfFile: directory.path + "/token-keys.yaml", encoding: .utf8)
        try await GatewayUnderTest.run(keys: keys) { gateway in
            let token = first.output.trimmingCharacters(in: .newlines)
            let answer = try await gateway.client.call("GET", "/auth/whoami", token: token)
            #expect(
                answer.text
                    == #"{"user":"svc-mail","groups":["staff"],"tag":"username:svc-mail","authenticator":"hmac-token"}"#
            )
            #expect(try await gateway.client.call("GET", "/auth/whoami", token: token + "A").status == 401)
        }
        #expect(try await run("tokens", "issue", "--user", "a b").status == 1)
    }

    @Test("Help and version exit with 0, and a usage error exits with 2")
    func usage() async throws {
        let version = try await Program.run(["version"])
        #expect(version.status == 0)
        #expect(version.output.hasPrefix("notify-gateway "))
        let help = try await Program.run(["--help"])
        #expect(help.status == 0)
        #expect(help.output.contains("check"))
        #expect(help.output.contains("USAGE: notify-gateway <subcommand>"))
        let mistake = try await Program.run(["serve", "--colour"])
        #expect(mistake.status == 2)
        #expect(mistake.output.isEmpty)
        #expect(!mistake.errors.isEmpty)
        #expect(try await Program.run(["check", "--config", "/does/not/exist"]).status == 1)
        #expect(try await Program.run(["demo", "--listen", "0.0.0.0:80"]).status == 2)
    }

    /// Returns the path of each leaf command, from the help dump of the program.
    private func commands() async throws -> [[String]] {
        let outcome = try await Program.run(["--experimental-dump-help"])
        let dump = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
        func leaves(_ command: [String: Any]?, _ path: [String]) -> [[String]] {
            let inner = (command?["subcommands"] as? [[String: Any]] ?? []).filter {
                $0["commandName"] as? String != "help"
            }
            if inner.isEmpty { return [path] }
            return inner.flatMap { leaves($0, path + [$0["commandName"] as? String ?? "?"]) }
        }
        return leaves(dump?["command"] as? [String: Any], [])
    }

    @Test("The help of each command names the command and contains an example")
    func helpOfEach() async throws {
        let commands = try await commands()
        #expect(commands.count > 20)
        for command in commands {
            let help = try await Program.run(command + ["--help"])
            #expect(help.status == 0 && help.errors.isEmpty, "\(command)")
            #expect(help.output.contains("USAGE: notify-gateway \(command.joined(separator: " "))"), "\(command)")
            #expect(help.output.contains("Example"), "\(command)")
        }
    }
}
