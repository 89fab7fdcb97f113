import Foundation
import GatewayTesting
import Testing

@Suite("Commands to a running gateway")
struct ControlTests {
    private let directory: TestFiles

    init() throws { directory = try .ofGateway(#"backend: { url: "http://127.0.0.1:9" }"#) }

    private func login(_ user: String, _ password: String, at gateway: ServedProgram) async throws -> Int {
        let credential = Data("\(user):\(password)".utf8).base64EncodedString()
        return try await gateway.client.send(
            "GET /auth/whoami HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Basic \(credential)\r\n\r\n"
        ).status
    }

    /// The operator records with an operator's uid. The gateway also writes operator records without one when it
    /// deletes the grants of removed users.
    private func operatorRecords() throws -> [[String: Any]] {
        try GatewayUnderTest.journal(in: directory).filter {
            $0["kind"] as? String == "operator" && $0["operator"] != nil
        }
    }

    @Test("A gateway with a ledger in a file says that it is alone, and refuses to overrule others")
    func nodes() async throws {
        let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
            for found in [try await gateway.command("nodes"), try await gateway.command("nodes", "--json")] {
                #expect(found.status == 0 && found.output.isEmpty)
                #expect(found.errors.hasPrefix("This gateway is alone"))
            }
            #expect(try await gateway.command("accounts", "apply").status == 1)
            #expect(try operatorRecords().isEmpty)
        }
        #expect(status == 0)
    }

    @Test("An operator can list and lift a ban after failed logins, and the lift is recorded and effective immediately")
    func bans() async throws {
        let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
            let none = try await gateway.command("bans", "list")
            #expect(none.status == 0)
            #expect(none.output.isEmpty && none.errors.isEmpty)

            try await withThrowingTaskGroup(of: Int.self) { tasks in
                for number in 0..<10 { tasks.addTask { try await login("alice", "wrong\(number)", at: gateway) } }
                for try await status in tasks { #expect(status == 401) }
            }
            #expect(try await login("alice", "alice", at: gateway) == 429)
            #expect(try await login("bob", "bob", at: gateway) == 200)

            let table = try await gateway.command("bans", "list")
            let rows = table.output.split(separator: "\n").map { $0.split(separator: " ") }
            #expect(rows.first == ["USER", "ADDRESS", "SECONDS"])
            #expect(rows.dropFirst().map { $0.prefix(2) } == [["alice", "127.0.0.1"]])
            let json = try await gateway.command("bans", "list", "--json")
            #expect(json.output.hasPrefix(#"{"user":"alice","address":"127.0.0.1","seconds":"#))

            // A lift for another user has no effect on the ban.
            #expect(try await gateway.command("bans", "lift", "--user", "bob").status == 0)
            #expect(try await login("alice", "alice", at: gateway) == 429)
            let lifted = try await gateway.command("bans", "lift", "--user", "ALICE")
            #expect(lifted.status == 0)
            #expect(lifted.errors.hasPrefix("Lifted: "))
            #expect(try await login("alice", "alice", at: gateway) == 200)
            #expect(try await gateway.command("bans", "list").output.isEmpty)

            let record = try #require(try operatorRecords().last)
            #expect(record["action"] as? String == "operator-lift-ban")
            #expect(record["user"] as? String == "alice")
            #expect(record["operator"] as? Int == Int(getuid()))
            #expect(record["result"] as? String == "accepted")
            #expect(record["peer"] as? String == "control")

            #expect(try await gateway.command("bans", "lift", "--user", "a b").status == 1)
            #expect(try await gateway.command("bans", "lift", "--address", "here").status == 1)
            #expect(try await gateway.command("bans", "lift").status == 2)
            #expect(try await gateway.command("bans", "lift", "--all", "--user", "bob").status == 2)
            #expect(try operatorRecords().count == 2)
        }
        #expect(status == 0)
    }

    @Test("`reload` prints the errors of a users file and then changes nothing")
    func reload() async throws {
        _ = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await login("carol", "carol", at: gateway) == 200)
            let good = try await gateway.command("reload")
            #expect(good.status == 0)
            #expect(good.output.isEmpty)

            try directory.write(GatewayUnderTest.users + "  mallory: { hash: plain }\n", to: "users.yaml")
            let bad = try await gateway.command("reload")
            #expect(bad.status == 1)
            #expect(bad.output.contains("/users.yaml:6:20: users.mallory.hash: "), "\(bad.output)")
            #expect(bad.output.split(separator: "\n").count == 1)
            #expect(!bad.errors.isEmpty)
            let json = try await gateway.command("reload", "--json")
            #expect(json.status == 1)
            #expect(json.output.contains(#""line":6,"column":20,"path":"users.mallory.hash""#), "\(json.output)")
            #expect(try await login("carol", "carol", at: gateway) == 200)

            let fewer = GatewayUnderTest.users.split(separator: "\n").filter { !$0.contains("carol") }
            try directory.write(fewer.joined(separator: "\n"), to: "users.yaml")
            // Each reload is a look at the file, which may be in the middle of a write.
            for _ in 0..<3 { #expect(try await gateway.command("reload").status == 0) }
            // The reload cleared the cached password of carol.
            #expect(try await login("carol", "carol", at: gateway) == 401)

            let records = try operatorRecords()
            #expect(Set(records.map { $0["action"] as? String }) == ["operator-reload"])
            #expect(
                records.map { $0["result"] as? String } == [
                    "accepted", "accepted", "failed", "accepted", "failed", "accepted", "accepted", "accepted",
                ])
        }
    }

    @Test("The control socket has mode 0600, is removed at shutdown, and replaces the socket of a killed gateway")
    func socketFile() async throws {
        let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try directory.mode(of: "control.sock") == 0o600)
            let second = try await Program.run(["serve", "--config", "gateway.yaml"], in: directory.path)
            #expect(second.status != 0)
            #expect(try await gateway.command("bans", "list").status == 0)
        }
        #expect(status == 0)
        #expect(try !directory.names().contains("control.sock"))
        _ = try await ServedProgram.run(in: directory) { gateway async throws in
            gateway.kill()
            #expect(try directory.names().contains("control.sock"))
            #expect(try await gateway.command("bans", "list").status == 69)
        }
        _ = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await gateway.command("bans", "list").status == 0)
        }
    }

    @Test("Commands exit with 69 without a gateway and with 1 without a configuration, and print the reason")
    func noGateway() async throws {
        for command in [["bans", "list"], ["bans", "lift", "--all"], ["reload"]] {
            let outcome = try await Program.run(command + ["--config", "gateway.yaml"], in: directory.path)
            #expect(outcome.status == 69)
            #expect(outcome.output.isEmpty)
            #expect(outcome.errors.hasPrefix("No gateway runs: nothing listens at "), "\(outcome.errors)")
            #expect(try await Program.run(command + ["--config", "missing.yaml"], in: directory.path).status == 1)
        }
        try directory.write("control: [", to: "broken.yaml")
        #expect(try await Program.run(["reload", "--config", "broken.yaml"], in: directory.path).status == 1)
    }

    @Test("A gateway refuses to start if others can replace its control socket, and `check` reports it")
    func openDirectory() async throws {
        try FileManager.default.createDirectory(atPath: "\(directory.path)/shared", withIntermediateDirectories: false)
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: "\(directory.path)/shared")
        let text = try directory.text(of: "gateway.yaml").replacing("control.sock", with: "shared/control.sock")
        try directory.write(text, to: "gateway.yaml")
        let check = try await Program.run(["check", "--config", "gateway.yaml"], in: directory.path)
        #expect(check.status == 1)
        #expect(check.output.contains("gateway.yaml: control: "), "\(check.output)")
        let serve = try await Program.run(["serve", "--config", "gateway.yaml"], in: directory.path)
        #expect(serve.status == 1)
        #expect(serve.errors.contains("is writable by other users"), "\(serve.errors)")
    }

    @Test(
        "The file mode and the peer's uid keep other users from the control socket",
        .enabled(
            if: geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv"),
            "needs root and setpriv"))
    func anotherUser() async throws {
        // The other user needs access to the directory of the socket.
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.path)
        _ = try await ServedProgram.run(in: directory) { gateway async throws in
            let socket = "\(directory.path)/control.sock"
            func stranger() async throws -> Program.Outcome {
                try await Program.execute(
                    "/usr/bin/setpriv",
                    [
                        "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/perl", "-MSocket", "-e",
                        Self.asking, socket,
                    ])
            }
            #expect(try await stranger().output == "connect: Permission denied\n")
            try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: socket)
            let rejection = try await stranger().output
            #expect(rejection.hasPrefix("HTTP/1.1 403 Forbidden\r\n"), "\(rejection)")
            #expect(
                rejection.contains(
                    #""detail":"Only root and the gateway's own user may send commands; you are uid 65534.""#),
                "\(rejection)")
            await gateway.log.contains("Control socket rejected a user")
            #expect(try operatorRecords().isEmpty)
        }
    }

    /// A Perl script that requests the lift of all bans. Perl is present on each Debian system.
    private static let asking = """
        socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die;
        connect($s, sockaddr_un($ARGV[0])) or do { print "connect: $!\\n"; exit };
        syswrite($s, "DELETE /v1/bans?all=true HTTP/1.1\\r\\nHost: gateway\\r\\n\\r\\n");
        print while <$s>;
        """
}
