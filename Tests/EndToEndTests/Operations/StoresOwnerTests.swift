import Foundation
import GatewayTesting
import Testing

@Suite(
    "Commands of root with a service account",
    .enabled(
        if: ServiceAccount.isUsable, "needs root, and the account `nobody` must be able to run the program")
)
struct StoresOwnerTests {
    private static let configuration = """
        authenticators:
          - static-users: { file: users.yaml }
          - hmac-token: { keys: token-keys.yaml }
        journal: { directory: data/journal, signing-key: data/journal.key, minimum-free: 0 }
        ledger: { file: data/ledger.sqlite }
        control: data/control.sock
        """

    /// Returns a directory in which a gateway has run as the service account, with a session and a device of alice.
    private func directory(killed: Bool = false) async throws -> TestFiles {
        let directory = try TestFiles.ofGateway(Self.configuration)
        try directory.write(GatewayUnderTest.keys, to: "token-keys.yaml")
        try FileManager.default.createDirectory(
            atPath: directory.path + "/data", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700]
        )
        try directory.give(to: ServiceAccount.user)
        _ = try await ServedProgram.run(in: directory, asServiceAccount: true) {
            (gateway: ServedProgram) async throws -> Void in
            #expect(try await gateway.client.call("POST", "/auth/token", as: "alice").status == 200)
            #expect(
                try await gateway.client.register("alice", "apns", String(repeating: "AE", count: 32)).status == 200)
            if killed { gateway.kill() }
        }
        return directory
    }

    @Test(
        "Commands that read change no file of the stores, after an orderly stop and after a kill",
        arguments: [false, true])
    func reading(killed: Bool) async throws {
        let directory = try await directory(killed: killed)
        let commands = [
            ["check"], ["registrations", "list"], ["tokens", "list"], ["audit", "key"],
            ["explain", "--user", "alice", "--body", #""hi""#, "POST /api/notifications?pns=apns&to_tag=bob"],
            ["users", "list"], ["keys", "list"],
        ]
        for command in commands {
            let before = try directory.inventory(of: "data")
            let outcome = try await Program.run(command + ["--config", "gateway.yaml"], in: directory.path)
            #expect(outcome.status == 0, "\(command): \(outcome.errors)")
            #expect(try directory.inventory(of: "data") == before, "\(command)")
        }
        #expect(try await directory.command("registrations", "list").output.contains("alice"))
        #expect(try await directory.command("tokens", "list").output.contains("alice"))
        // The journal index is a cache. It may change or vanish, but its owner stays the service account.
        let verified = try await directory.command("audit", "verify")
        #expect(verified.status == 0, "\(verified.errors)")
        #expect(try await directory.command("audit", "list").status == 0)
        #expect(try await directory.command("audit", "who-notified", "bob").status == 0)
        try await startsAgain(directory)
    }

    @Test("Commands that change the stores of a stopped gateway keep their owner")
    func changing() async throws {
        let directory = try await directory()
        let revoked = try await directory.command("tokens", "revoke", "--user", "alice")
        #expect(revoked.status == 0)
        #expect(revoked.errors.contains("1 session, 1 registration."), "\(revoked.errors)")
        // Root's own directory, which the owner of the stores cannot enter, is that of the backup and of exports.
        let own = try TestFiles()
        #expect(try await directory.command("backup", own.path).status == 0)
        #expect(try await directory.command("ledger", "export", own.path + "/rows.jsonl").status == 0)
        #expect(try own.mode(of: "rows.jsonl") == 0o600)
        #expect(try await directory.command("registrations", "revoke", "1-1-1").status == 1)
        try own.write(
            "<AppleRegistrationDescription><RegistrationId>2-2-2</RegistrationId><Tags>username:alice</Tags>"
                + "<DeviceToken>\(String(repeating: "A1", count: 32))</DeviceToken></AppleRegistrationDescription>\n",
            to: "export.xml")
        let imported = try await directory.command("registrations", "import", own.path + "/export.xml")
        #expect(imported.status == 0, "\(imported.errors)")
        // The record names the real user who ran the command.
        let records = try GatewayUnderTest.journal(in: directory, "data/journal").filter {
            $0["kind"] as? String == "operator"
        }
        #expect(!records.isEmpty && records.allSatisfy { $0["operator"] as? Int == 0 })
        // The commands replace two files and create one.
        #expect(try await directory.command("users", "add", "dave", input: "a password\n").status == 0)
        #expect(try await directory.command("keys", "rotate").status == 0)
        try FileManager.default.removeItem(atPath: directory.path + "/users.yaml")
        #expect(try await directory.command("users", "add", "alice", input: "a password\n").status == 0)
        try await startsAgain(directory)
    }

    private func startsAgain(_ directory: TestFiles) async throws {
        let strangers = try directory.strangers(to: ServiceAccount.user).filter {
            $0 != "gateway.yaml"
        }
        #expect(strangers == [])
        try directory.give(to: ServiceAccount.user)
        let status = try await ServedProgram.run(in: directory, asServiceAccount: true) {
            (gateway: ServedProgram) async throws -> Void in
            #expect(try await gateway.client.call("GET", "/auth/whoami", as: "nobody-here").status == 401)
        }.status
        #expect(status == 0)
    }

    @Test("A command reads and writes files that the running service cannot, and restores as the service's user")
    func filesOfTheCaller() async throws {
        let directory = try await directory()
        let own = try TestFiles()
        try own.write(
            "<AppleRegistrationDescription><RegistrationId>2-2-2</RegistrationId><Tags>username:alice</Tags>"
                + "<DeviceToken>\(String(repeating: "A1", count: 32))</DeviceToken></AppleRegistrationDescription>\n",
            to: "export.xml")
        _ = try await ServedProgram.run(in: directory, asServiceAccount: true) {
            (gateway: ServedProgram) async throws -> Void in
            let imported = try await gateway.command("registrations", "import", own.path + "/export.xml")
            #expect(imported.status == 0, "\(imported.errors)")
            #expect(imported.errors.contains("bound 1"), "\(imported.errors)")
            let again = try await Program.run(
                ["registrations", "import", "-", "--config", "gateway.yaml"],
                input: try own.text(of: "export.xml"), in: directory.path)
            #expect(again.errors.contains("known 1"), "\(again.errors)")
            let backup = try await gateway.command("backup", own.path)
            #expect(backup.status == 0, "\(backup.errors)")
            let file = try #require(try own.names().first { $0.hasSuffix(".tar") })
            #expect(try own.mode(of: file) == 0o600)
            let refused = try await gateway.command("restore", own.path)
            #expect(refused.status == 1 && refused.errors.contains("Stop the gateway first"), "\(refused.errors)")
        }
        #expect(try !directory.names().contains { $0.hasPrefix(".spool") })
        try FileManager.default.removeItem(atPath: directory.path + "/data")
        let missing = try await directory.command("restore", own.path)
        #expect(missing.status == 1 && missing.errors.contains("install -d"), "\(missing.errors)")
        try FileManager.default.createDirectory(
            atPath: directory.path + "/data", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700]
        )
        chown(directory.path + "/data", ServiceAccount.user, ServiceAccount.user)
        let restored = try await directory.command("restore", own.path)
        #expect(restored.status == 0, "\(restored.errors)")
        #expect(try directory.strangers(to: ServiceAccount.user).filter { $0 != "gateway.yaml" } == [])
        #expect(try await directory.command("registrations", "list").output.contains("2-2-2"))
        try await startsAgain(directory)
    }

    @Test("A command deletes the temporary copy of a killed command, but not that of a running command")
    func leftovers() async throws {
        let directory = try await directory()
        let temporary = try TestFiles()
        let (old, held) = ("notify-gateway-read-old", "notify-gateway-read-held")
        for name in [old, held] {
            let path = "\(temporary.path)/\(name)"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -3600)], ofItemAtPath: path)
        }
        let descriptor = open("\(temporary.path)/\(held)", O_RDONLY)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX) == 0)
        let outcome = try await Program.execute(
            "/usr/bin/env",
            ["TMPDIR=\(temporary.path)", Program.path, "registrations", "list", "--config", "gateway.yaml"],
            in: directory.path)
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(try temporary.names() == [held])
    }
}
