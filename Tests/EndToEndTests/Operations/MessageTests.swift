import Foundation
import GatewayTesting
import Testing

@Suite("Error messages of commands")
struct MessageTests {
    /// A port on which a socket listens while the object exists.
    private final class TakenPort {
        let port: Int
        private let descriptor: Int32

        init() throws {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let descriptor = descriptor
            withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    _ = bind(descriptor, $0, length)
                    _ = listen(descriptor, 1)
                    _ = getsockname(descriptor, $0, &length)
                }
            }
            port = Int(UInt16(bigEndian: address.sin_port))
        }

        deinit { close(descriptor) }
    }

    /// Returns whether the text contains no name of a library, and no type or function of one.
    private func isPlain(_ text: String) -> Bool {
        !["errno:", "descriptor:", "NIO", "Error(", "Code=", "NSCocoa", "SQLite error", "CancellationError"].contains {
            text.contains($0)
        }
    }

    @Test(
        "`serve` reports a port in use in one line, before it opens or logs anything",
        arguments: ["listen", "admin", "backend"])
    func portInUse(section: String) async throws {
        let taken = try TakenPort()
        let own =
            switch section {
            case "listen": #"listen: [{ address: "127.0.0.1:\#(taken.port)" }]"#
            case "admin": #"admin: { address: "127.0.0.1:\#(taken.port)" }"#
            default: "backend: { url: embedded, port: \(taken.port) }"
            }
        let directory = try TestFiles.ofGateway(own)
        let outcome = try await directory.command("serve")
        #expect(outcome.status == 1)
        #expect(
            outcome.errors
                == "bind 127.0.0.1:\(taken.port): address already in use; another process listens there (`ss -ltnp`)\n")
        #expect(try directory.names() == ["gateway.yaml", "users.yaml"])
    }

    @Test("`demo` and `backend` report a port in use with the same message as `serve`")
    func portInUseElsewhere() async throws {
        let taken = try TakenPort()
        let line = "bind 127.0.0.1:\(taken.port): address already in use; another process listens there (`ss -ltnp`)\n"
        let demo = try await Program.run(["demo", "--listen", "127.0.0.1:\(taken.port)"])
        #expect(demo.status == 1 && demo.errors == line)
        let backend = try await Program.run(["backend", "--port", "\(taken.port)"])
        #expect(backend.status == 1 && backend.errors == line)
    }

    @Test("A message about a missing file names the reason and the command that creates the file")
    func missingFiles() async throws {
        let directory = try TestFiles.ofGateway(
            "authenticators: [{ static-users: { file: nobody.yaml } }, { hmac-token: { keys: none.yaml } }]")
        let check = try await directory.command("check")
        #expect(check.status == 1)
        #expect(
            check.output.contains(
                "nobody.yaml: does not exist; put it back, or create it with `notify-gateway users add NAME`"),
            "\(check.output)")
        #expect(
            check.output.contains(
                "none.yaml: does not exist; put it back, or create it with `notify-gateway keys rotate`"),
            "\(check.output)"
        )
        let missing = try await Program.run(["check", "--config", "/does/not/exist.yaml"])
        #expect(
            missing.output.hasPrefix("/does/not/exist.yaml: does not exist; --config names another"),
            "\(missing.output)")
        for command in [["registrations", "list"], ["tokens", "list"], ["backup", NSTemporaryDirectory()]] {
            try directory.configure("")
            let outcome = try await Program.run(command + ["--config", "gateway.yaml"], in: directory.path)
            #expect(outcome.status == 1)
            #expect(outcome.errors.contains("no gateway has run with this configuration yet"), "\(outcome.errors)")
        }
        #expect(try directory.names() == ["gateway.yaml", "users.yaml"])
    }

    @Test("Messages about an invalid ledger, an unreachable backend and a missing socket contain no error of a library")
    func libraries() async throws {
        let directory = try TestFiles.ofGateway(#"backend: { url: "http://127.0.0.1:1" }"#)
        try directory.write(String(repeating: "this is no database ", count: 500), to: "ledger.sqlite")
        for command in [["serve"], ["registrations", "list"], ["tokens", "revoke", "--user", "alice"]] {
            let outcome = try await Program.run(command + ["--config", "gateway.yaml"], in: directory.path)
            #expect(outcome.status == 69)
            #expect(outcome.errors.contains("the file is not an SQLite database"), "\(command): \(outcome.errors)")
            #expect(isPlain(outcome.errors), "\(outcome.errors)")
        }
        let probe = try await directory.command("probe")
        #expect(probe.status == 69)
        #expect(probe.errors.contains("connection refused") && isPlain(probe.errors), "\(probe.errors)")
        let plugin = try await Program.run(["plugin", "test", directory.path + "/none.sock"])
        #expect(plugin.status == 1)
        #expect(plugin.output.contains("No such file or directory") && isPlain(plugin.output), "\(plugin.output)")
    }

    @Test("The import reads a path with spaces and non-ASCII characters, and names a missing file")
    func importPath() async throws {
        let directory = try TestFiles.ofGateway()
        try directory.write("<entry/>\n", to: "Geräte vom Hub (alt) 100%.xml")
        let outcome = try await directory.command("registrations", "import", "Geräte vom Hub (alt) 100%.xml")
        #expect(outcome.status == 1)
        #expect(outcome.errors.contains("None of the 1 lines of "), "\(outcome.errors)")
        let missing = try await directory.command("registrations", "import", "no such export.xml")
        #expect(missing.status == 1)
        #expect(
            missing.errors.contains("no such export.xml") && missing.errors.contains("does not exist"),
            "\(missing.errors)")
        #expect(isPlain(missing.errors))
    }

    @Test("`demo` names the invalid argument")
    func demo() async throws {
        let profile = try await Program.run(["demo", "--profile", "foo"])
        #expect(profile.status == 2)
        #expect(profile.errors.contains("foo") && profile.errors.contains("--profile"), "\(profile.errors)")
        let listen = try await Program.run(["demo", "--listen", "example.org:80"])
        #expect(listen.status == 2)
        #expect(listen.errors.contains("--listen example.org:80 is not a loopback address"), "\(listen.errors)")
    }

    @Test("`tokens revoke` reports what it revoked or that nothing matched, and `explain` reports an unknown user")
    func revoking() async throws {
        let directory = try TestFiles.ofGateway(
            "authenticators: [{ static-users: { file: users.yaml } }, { hmac-token: { keys: token-keys.yaml } }]")
        try directory.write(GatewayUnderTest.keys, to: "token-keys.yaml")
        _ = try await ServedProgram.run(in: directory) { (gateway: ServedProgram) async throws -> Void in
            for _ in 0..<2 { #expect(try await gateway.client.call("POST", "/auth/token", as: "bob").status == 200) }
            let none = try await gateway.command("tokens", "revoke", "--user", "nosuch")
            #expect(
                none.status == 1 && none.errors.hasPrefix("Nothing to revoke: all of nosuch"), "\(none.errors)")
            let some = try await gateway.command("tokens", "revoke", "--user", "bob")
            #expect(some.status == 0)
            #expect(some.errors == "Revoked: all of bob: 2 sessions, 0 registrations.\n")
            let call = ["--body", #""hi""#, "POST /api/notifications?pns=apns&to_tag=bob"]
            let stranger = try await gateway.command(["explain", "--user", "nosuch"] + call)
            #expect(
                stranger.output.contains("none: unknown to static-users; a login would be rejected"),
                "\(stranger.output)")
            let known = try await gateway.command(["explain", "--user", "alice"] + call)
            #expect(!known.output.contains("unknown to"))
            // {"sub":"carol","jti":"x1","exp":999999999999}
            let forged = try await directory.command(
                "tokens", "revoke",
                input: "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJjYXJvbCIsImp0aSI6IngxIiwiZXhwIjo5OTk5OTk5OTk5OTl9.AAAA")
            #expect(forged.status == 0)
            #expect(
                forged.errors == "Revoked: token x1 of carol. The token's signature was not verified.\n",
                "\(forged.errors)")
        }
        // The next start reads the revocation.
        #expect(try await directory.command("tokens", "revoke", "--user", "bob").status == 1)
    }
}
