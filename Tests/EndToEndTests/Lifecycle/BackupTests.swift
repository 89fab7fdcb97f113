import Foundation
import GatewayTesting
import NotifyBackend
import Testing

@Suite("Backup and restore", .timeLimit(.minutes(5))) struct BackupTests {
    private static let handle = String(repeating: "B0", count: 32)
    private static let other = String(repeating: "CA", count: 32)

    private static func directory(_ port: Int = 9, hasKeys: Bool = true) throws -> TestFiles {
        let directory = try TestFiles.ofGateway(
            """
            backend: { url: "http://127.0.0.1:\(port)", profile: classic }
            authenticators: [{ static-users: { file: users.yaml } }, { hmac-token: { keys: token-keys.yaml } }]
            """)
        if hasKeys { try directory.write(GatewayUnderTest.keys, to: "token-keys.yaml") }
        return directory
    }

    private static func sendKeyed(at client: RawClient) async throws -> RawClient.Response {
        let request = RawClient.request(
            "POST", "/api/notifications?pns=apns&to_tag=bob", as: "alice", body: #""once""#)
        return try await client.send(
            request.replacing("\r\nHost: ", with: "\r\nIdempotency-Key: the-key-of-the-send\r\nHost: "))
    }

    /// Returns the path of the only backup in a directory.
    private static func backup(in directory: TestFiles) throws -> String {
        let names = try directory.names()
        #expect(names.count == 1 && names[0].hasSuffix(".tar"), "\(names)")
        let name = try #require(names.first)
        return "\(directory.path)/\(name)"
    }

    @Test("A gateway on another machine goes on with a backup that was made under load, and repeats no keyed send")
    func lostMachine() async throws {
        let hub = NotificationHub()
        try await GatewayUnderTest.runBackend(.classic, hub: hub) { port in
            let (first, backups) = (try Self.directory(port), try TestFiles())
            var sent = ""
            _ = try await ServedProgram.run(in: first) { gateway async throws in
                #expect(try await gateway.client.register("bob", "apns", Self.handle).status == 200)
                #expect(try await gateway.client.register("carol", "apns", Self.other).status == 200)
                let answer = try await Self.sendKeyed(at: gateway.client)
                #expect(answer.status == 200, "\(answer.text)")
                sent = answer.text
                let client = gateway.client
                let load = Task {
                    while !Task.isCancelled {
                        _ = try? await client.call(
                            "POST", "/api/notifications?pns=apns&to_tag=carol", as: "eve", body: #""load""#)
                        _ = try? await client.call("POST", "/auth/token", as: "carol")
                    }
                }
                let outcome = try await gateway.command("backup", backups.path)
                #expect(outcome.status == 0, "\(outcome.errors)")
                let file = try Self.backup(in: backups)
                #expect(outcome.output == file + "\n")
                load.cancel()
                gateway.kill()
                await load.value
            }
            try FileManager.default.removeItem(atPath: first.path)
            #expect(hub.inbox(ofHandle: Self.handle).count == 1)

            let second = try Self.directory(port, hasKeys: false)
            let outcome = try await second.command("restore", backups.path)
            #expect(outcome.status == 0, "\(outcome.errors)")
            #expect(!outcome.errors.contains("audit verify"), "\(outcome.errors)")
            for name in try second.names() where name.hasPrefix("ledger.sqlite") || name == "token-keys.yaml" {
                #expect(try second.mode(of: name) == 0o600, "\(name)")
            }
            let (_, status) = try await ServedProgram.run(in: second) { gateway async throws in
                let repeated = try await Self.sendKeyed(at: gateway.client)
                #expect(repeated.status == 200)
                #expect(repeated.text == sent)
                #expect(hub.inbox(ofHandle: Self.handle).count == 1)
                let listed = try await gateway.command("registrations", "list", "--json")
                #expect(listed.output.contains("bob") && listed.output.contains("carol"), "\(listed)")
                let running = try await gateway.command("restore", backups.path, "--replace")
                #expect(running.status == 1 && running.errors.contains("Stop the gateway first"), "\(running.errors)")
            }
            #expect(status == 0)
            let verified = try await second.command("audit", "verify")
            #expect(verified.status == 0 && verified.output.hasPrefix("OK"), "\(verified)")
        }
    }

    /// Returns a directory in which a gateway has run several times, so that its journal has as many segments; all but the
    /// last two are days old.
    private static func aged() async throws -> (TestFiles, old: [String]) {
        let directory = try directory()
        for _ in 0..<4 {
            _ = try await ServedProgram.run(in: directory) { gateway async throws in
                #expect(try await gateway.client.call("POST", "/auth/token", as: "alice").status == 200)
            }
        }
        let journal = "\(directory.path)/journal"
        let segments = try FileManager.default.contentsOfDirectory(atPath: journal).filter { $0.hasPrefix("journal-") }
            .sorted()
        let old = Array(segments.dropLast(2))
        #expect(!old.isEmpty)
        for name in old {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -3 * 86_400)], ofItemAtPath: "\(journal)/\(name)")
        }
        return (directory, old)
    }

    @Test(
        "After a move, audit verify is OK with the journal, and names what is missing without it",
        arguments: [true, false])
    func journal(isWhole: Bool) async throws {
        let (first, old) = try await Self.aged()
        let (backups, second) = (try TestFiles(), try Self.directory(hasKeys: false))
        let options = isWhole ? ["--whole-journal"] : []
        let made = try await Program.run(
            ["backup", backups.path, "--config", "gateway.yaml"] + options, in: first.path)
        #expect(made.status == 0, "\(made.errors)")
        let restored = try await second.command("restore", try Self.backup(in: backups))
        #expect(restored.status == 0, "\(restored.errors)")
        #expect(restored.errors.contains("audit verify reports lines 1 to") == !isWhole, "\(restored.errors)")
        _ = try await ServedProgram.run(in: second) { gateway async throws in
            #expect(try await gateway.client.call("POST", "/auth/token", as: "alice").status == 200)
        }
        if !isWhole {
            let incomplete = try await second.command("audit", "verify")
            #expect(incomplete.status == 1)
            #expect(incomplete.errors.contains("copy the earlier segments"), "\(incomplete.errors)")
            for name in old {
                try FileManager.default.copyItem(
                    atPath: "\(first.path)/journal/\(name)", toPath: "\(second.path)/journal/\(name)")
            }
        }
        let verified = try await second.command("audit", "verify")
        #expect(verified.status == 0 && verified.output.hasPrefix("OK"), "\(verified)")
    }

    @Test("A journal that ends right before the backup is continued, and another one is moved aside")
    func earlierSegments() async throws {
        let (first, old) = try await Self.aged()
        let backups = try TestFiles()
        #expect(try await first.command("backup", backups.path).status == 0)
        let (own, foreign) = (try Self.directory(hasKeys: false), try Self.directory(hasKeys: false))
        try FileManager.default.createDirectory(atPath: "\(own.path)/journal", withIntermediateDirectories: false)
        for name in old {
            try FileManager.default.copyItem(
                atPath: "\(first.path)/journal/\(name)", toPath: "\(own.path)/journal/\(name)")
        }
        let continued = try await own.command("restore", backups.path)
        #expect(continued.status == 0 && !continued.errors.contains("reports lines"), "\(continued.errors)")
        #expect(try await own.command("audit", "verify").status == 0)

        // The first segment of another journal, and nothing else of its gateway.
        try FileManager.default.createDirectory(atPath: "\(foreign.path)/journal", withIntermediateDirectories: false)
        let other = try Self.directory()
        _ = try await ServedProgram.run(in: other) { gateway async throws in
            #expect(try await gateway.client.call("POST", "/auth/token", as: "alice").status == 200)
        }
        let segment = try #require(
            FileManager.default.contentsOfDirectory(atPath: "\(other.path)/journal").first { $0.hasPrefix("journal-") })
        try FileManager.default.copyItem(
            atPath: "\(other.path)/journal/\(segment)", toPath: "\(foreign.path)/journal/\(segment)")
        let refused = try await foreign.command("restore", backups.path)
        #expect(
            refused.status == 1 && refused.errors.contains("does not end with the line before"), "\(refused.errors)")
        let replaced = try await foreign.command("restore", backups.path, "--replace")
        #expect(replaced.status == 0 && replaced.errors.contains("reports lines 1 to"), "\(replaced.errors)")
        let names = try FileManager.default.contentsOfDirectory(atPath: "\(foreign.path)/journal")
        #expect(!names.contains(segment) && names.contains { $0.hasPrefix("replaced-") }, "\(names)")
    }

    @Test("A backup of the whole journal has more segments than a process may usually have files open")
    func manySegments() async throws {
        let (directory, backups) = (try Self.directory(), try TestFiles())
        let outcome = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await gateway.client.call("POST", "/auth/token", as: "alice").status == 200)
            // Later segments with one line each, of which the running gateway does not know.
            for number in 1_000...1_099 {
                let digits = String(repeating: "0", count: 16) + "\(number)"
                try directory.write("{}\n", to: "journal/journal-\(digits).jsonl", mode: 0o600)
            }
            return try await Program.execute(
                "/bin/sh",
                [
                    "-c", "ulimit -Sn 64; exec \"$1\" backup \"$2\" --whole-journal --config gateway.yaml", "sh",
                    Program.path, backups.path,
                ], in: directory.path)
        }.0
        #expect(outcome.status == 0, "\(outcome.errors)")
        let listed = try await Program.execute("/bin/tar", ["tf", try Self.backup(in: backups)])
        #expect(listed.output.split(separator: "\n").count { $0.hasPrefix("journal/") } >= 100)
    }

    @Test(
        "Directories that a restore creates have the owner of the ledger's directory, up to the outermost",
        .enabled(if: ServiceAccount.isUsable, "needs root, and the account `nobody` must be able to run the program"))
    func owners() async throws {
        let (first, backups, second) = (try Self.directory(), try TestFiles(), try TestFiles())
        _ = try await ServedProgram.run(in: first) { gateway async throws in
            #expect(try await gateway.client.call("POST", "/auth/token", as: "alice").status == 200)
        }
        #expect(try await first.command("backup", backups.path).status == 0)
        try second.write(GatewayUnderTest.users, to: "users.yaml")
        try second.configure(
            """
            backend: { url: "http://127.0.0.1:9", profile: classic }
            authenticators: [{ static-users: { file: users.yaml } }, { hmac-token: { keys: token-keys.yaml } }]
            journal: { directory: deep/er/journal, signing-key: journal.key, minimum-free: 0 }
            """)
        try second.give(to: ServiceAccount.user)
        let restored = try await second.command("restore", backups.path)
        #expect(restored.status == 0, "\(restored.errors)")
        for name in ["deep", "deep/er", "deep/er/journal"] {
            let owner = try FileManager.default.attributesOfItem(atPath: "\(second.path)/\(name)")[.ownerAccountID]
            #expect((owner as? NSNumber)?.uint32Value == ServiceAccount.user, "\(name)")
        }
    }

    @Test("A lost ledger is restored beside a journal that goes on, which is kept")
    func keptJournal() async throws {
        let (directory, backups) = (try Self.directory(), try TestFiles())
        let file = "\(directory.path)/ledger.sqlite"
        _ = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await gateway.client.call("POST", "/auth/token", as: "alice").status == 200)
            #expect(try await gateway.command("backup", backups.path).status == 0)
            #expect(try await gateway.client.call("POST", "/auth/token", as: "alice").status == 200)
        }
        let lines = try GatewayUnderTest.journal(in: directory).count
        let refused = try await directory.command("restore", backups.path)
        #expect(refused.status == 1 && refused.errors.contains("--replace"), "\(refused.errors)")
        #expect(try !directory.names().contains { $0.hasPrefix("replaced-") || $0.hasPrefix(".restore") })
        try Data("no ledger".utf8).write(to: URL(filePath: file))
        let restored = try await directory.command("restore", backups.path, "--replace")
        #expect(restored.status == 0 && restored.errors.contains("was kept"), "\(restored.errors)")
        #expect(try GatewayUnderTest.journal(in: directory).count == lines)
        let aside = try #require(try directory.names().first { $0.hasPrefix("replaced-") })
        #expect(try directory.text(of: "\(aside)/ledger.sqlite") == "no ledger")
        let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(gateway.log.text.contains("Ledger restored from a backup"))
            #expect(try await gateway.client.call("POST", "/auth/token", as: "alice").status == 200)
        }
        #expect(status == 0)
        #expect(try await directory.command("audit", "verify").status == 0)
    }

    @Test("A backup passes through pipes, and one that was cut off or changed restores nothing")
    func pipes() async throws {
        let first = try Self.directory()
        _ = try await ServedProgram.run(in: first) { gateway async throws in
            #expect(try await gateway.client.call("POST", "/auth/token", as: "alice").status == 200)
        }
        func shell(_ script: String, in directory: TestFiles) async throws -> Program.Outcome {
            try await Program.execute("/bin/sh", ["-c", script, "sh", Program.path], in: directory.path)
        }
        let made = try await shell("\"$1\" backup - --config gateway.yaml >whole.tar", in: first)
        #expect(made.status == 0, "\(made.errors)")
        let second = try Self.directory(hasKeys: false)
        let before = try second.names()
        for damage in ["head -c 5000", "tail -c +513", "head -c -1", "tr a b", "cat - /etc/passwd"] {
            let refused = try await shell(
                "\(damage) <\(first.path)/whole.tar | \"$1\" restore - --config gateway.yaml", in: second)
            #expect(refused.status == 1, "\(damage): \(refused)")
            #expect(try second.names().filter { $0 != "ledger.sqlite.lock" && $0 != "journal" } == before, "\(damage)")
        }
        let restored = try await shell(
            "\"$1\" restore - --config gateway.yaml <\(first.path)/whole.tar", in: second)
        #expect(restored.status == 0, "\(restored.errors)")
        let again = try await shell(
            "\"$1\" restore - --config gateway.yaml <\(first.path)/whole.tar", in: second)
        #expect(again.status == 0 && again.errors.contains("in place already"), "\(again.errors)")
    }

    @Test("A full disk leaves no backup")
    func fullDisk() async throws {
        let (directory, backups) = (try Self.directory(), try TestFiles())
        _ = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await gateway.command("backup", backups.path).status == 0)
            let file = try Self.backup(in: backups)
            let size = try #require(FileManager.default.attributesOfItem(atPath: file)[.size] as? Int)
            try FileManager.default.removeItem(atPath: file)
            // The largest size of a file of the process stands for the disk.
            let outcome = try await Program.execute(
                "/bin/sh",
                [
                    "-c", "trap '' XFSZ; ulimit -f \(size / 512 - 2); exec \"$1\" backup \"$2\" --config gateway.yaml",
                    "sh", Program.path, backups.path,
                ], in: directory.path)
            #expect(outcome.status == 1 && outcome.errors.contains("left no file"), "\(outcome)")
            #expect(try backups.names() == [])
        }
    }

    @Test("A backup or a restore that is killed at any moment leaves all or nothing, and can be repeated")
    func killed() async throws {
        let (first, backups) = (try Self.directory(), try TestFiles())
        _ = try await ServedProgram.run(in: first) { gateway async throws in
            #expect(try await gateway.client.call("POST", "/auth/token", as: "alice").status == 200)
        }
        let whole = try TestFiles()
        #expect(try await first.command("backup", whole.path).status == 0)
        let archive = try Self.backup(in: whole)
        for _ in 0..<(TestRun.isFull ? 200 : 12) {
            try await Self.kill(["backup", backups.path, "--config", "gateway.yaml"], in: first)
            for name in try backups.names() where !name.hasPrefix(".") {
                let target = try Self.directory(hasKeys: false)
                #expect(try await target.command("restore", "\(backups.path)/\(name)").status == 0, "\(name)")
                try FileManager.default.removeItem(atPath: "\(backups.path)/\(name)")
            }
            let target = try Self.directory(hasKeys: false)
            try await Self.kill(["restore", archive, "--config", "gateway.yaml"], in: target)
            let names = try target.names()
            let again = try await target.command("restore", archive)
            #expect(again.status == 0, "\(again.errors)")
            let isWhole = names.contains("ledger.sqlite")
            #expect(again.errors.contains("in place already") == isWhole, "\(names): \(again.errors)")
            // Until all is in place, either nothing is or the ledger counts as lost.
            if !isWhole, names.contains("token-keys.yaml") {
                #expect(names.contains("ledger.sqlite.restoring"), "\(names)")
            }
            #expect(try !target.names().contains { $0.hasPrefix(".restore") || $0.hasSuffix(".restoring") })
            #expect(try await target.command("tokens", "list").output.contains("alice"))
        }
        #expect(try await first.command("backup", backups.path).status == 0)
        _ = try Self.backup(in: backups)
    }

    @Test("A gateway does not start beside a restore that was interrupted")
    func interrupted() async throws {
        let (directory, backups) = (try Self.directory(), try TestFiles())
        _ = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await gateway.client.call("POST", "/auth/token", as: "alice").status == 200)
            #expect(try await gateway.command("backup", backups.path).status == 0)
        }
        try directory.write("", to: "ledger.sqlite.restoring", mode: 0o600)
        // Files that the restore has not put in place yet look missing.
        for name in ["token-keys.yaml", "ledger.sqlite"] {
            try FileManager.default.removeItem(atPath: "\(directory.path)/\(name)")
        }
        for command in [
            ["serve"], ["backup", backups.path], ["tokens", "list"], ["tokens", "revoke", "--user", "alice"],
            ["registrations", "list"],
        ] {
            let refused = try await Program.run(command + ["--config", "gateway.yaml"], in: directory.path)
            #expect(
                refused.status != 0 && (refused.output + refused.errors).contains("a restore was interrupted"),
                "\(command): \(refused)")
        }
        #expect(try await directory.command("backup", "").status != 0)
        #expect(try await directory.command("restore", backups.path, "--replace").status == 0)
        let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await gateway.client.call("POST", "/auth/token", as: "alice").status == 200)
        }
        #expect(status == 0)
    }

    /// Starts a command and kills it at a random moment.
    private static func kill(_ arguments: [String], in directory: TestFiles) async throws {
        let process = Process()
        process.executableURL = URL(filePath: Program.path)
        process.arguments = arguments
        process.currentDirectoryURL = URL(filePath: directory.path)
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let (ends, end) = AsyncStream<Void>.makeStream()
        process.terminationHandler = { _ in end.finish() }
        try process.run()
        // The moment is what the test varies; nothing depends on it.
        try await Task.sleep(for: .microseconds(.random(in: 0...300_000)))
        Foundation.kill(process.processIdentifier, SIGKILL)
        for await _ in ends {}
    }
}
