import Foundation
import GatewayTesting
import Testing

@Suite("Audit queries by option", .timeLimit(.minutes(10)))
struct AuditQueryTests {
    private let directory: TestFiles

    init() throws {
        directory = try .ofGateway(
            """
            policy: { enforce: false, send: [{ from: alice, to: bob }] }
            limits: [{ name: pair, per: [sender, recipient], rate: 2/d }, { name: inbox, per: recipient, rate: 1/d, shadow: true }]
            journal: { directory: journal, minimum-free: 0, checkpoint-copy: checkpoints }
            """)
    }

    /// Sends three messages that the policy allows, one of them above a limit, and one that only the shadow policy
    /// allows.
    private func fill() async throws {
        let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
            func send(_ user: String, _ recipient: String) async throws -> Int {
                try await gateway.client.call(
                    "POST", "/api/notifications?pns=apns&to_tag=\(recipient)", as: user, body: #""hello""#
                ).status
            }
            #expect(try await send("alice", "bob") == 200)
            #expect(try await send("alice", "bob") == 200)
            #expect(try await send("alice", "bob") == 429)
            #expect(try await send("eve", "carol") == 200)
        }
        #expect(status == 0)
    }

    private func rows(_ arguments: String...) async throws -> [String] {
        let outcome = try await Program.run(
            ["audit", "list"] + arguments + ["--config", "gateway.yaml"], in: directory.path)
        #expect(outcome.status == 0, "\(outcome.errors)")
        if outcome.output.isEmpty { #expect(outcome.errors.contains("No journal records match")) }
        return outcome.output.split(separator: "\n").dropFirst().map(String.init)
    }

    @Test("`audit list` selects records by each option, including shadow rejections by rule and by limit")
    func options() async throws {
        try await fill()
        let trial = try await rows("--result", "would-refuse", "--since", "1d")
        #expect(trial.count == 1 && trial[0].contains("eve") && trial[0].contains("would-refuse"))
        let shadow = try await rows("--result", "would-limit")
        #expect(shadow.count == 1 && shadow[0].contains("inbox (shadow)"))
        let refused = try await rows("--limit", "pair")
        #expect(refused.count == 1 && refused[0].contains("rate-limited") && refused[0].contains("pair"))
        #expect(try await rows("--limit", "inbox").count == 1)
        #expect(try await rows("--limit", "none").isEmpty)
        #expect(try await rows("--rule", "send[0]").count == 3)
        #expect(try await rows("--rule", "send[9]").isEmpty)
        #expect(try await rows("--peer", "127.0.0.1", "--user", "eve").count == 1)
        #expect(try await rows("--peer", "192.0.2.1").isEmpty)
        #expect(try await rows("--user", "ALICE").count == 3)
        let call = try #require(trial[0].split(separator: " ").last.map(String.init))
        #expect(try await rows("--call", call) == trial)
        for word in ["login-failed", "banned", "ban-ended", "accepted", "torn-tail"] {
            _ = try await rows("--result", word)
        }
        let wrong = try await directory.command("audit", "list", "--result", "refused")
        #expect(wrong.status == 2)
        for word in ["accepted", "rate-limited", "would-refuse", "would-limit", "login-failed", "send-not-allowed"] {
            #expect(wrong.errors.contains(word))
        }
        // Each result that the journal contains is a valid argument of `--result`.
        let all = try await directory.command("audit", "export", "--json")
        let words = Set(all.output.matches(of: /"result":"([^"]+)"/).map { String($0.1) })
        #expect(words == ["accepted", "rate-limited"])
        for word in words { #expect(try await !rows("--result", word).isEmpty) }
        let json = try await directory.command("audit", "list", "--json", "--user", "eve")
        #expect(json.output.contains(#""results":{"accepted":1}"#) && json.output.contains(#""rule":"would-refuse""#))
    }

    @Test("`audit list` accepts times as RFC 3339, as a date and as a duration of several units")
    func times() async throws {
        try await fill()
        let count = try await rows().count
        for since in [
            "2w", "1h30m", "1d12h", "90s", "5min", "2020-01-31", "2020-01-31T10:00:00Z", "2020-01-31T10:00:00+01:00",
        ] {
            #expect(try await rows("--since", since).count == count, "\(since)")
            #expect(try await rows("--until", since).isEmpty, "\(since)")
        }
        for wrong in ["yesterday", "1x", "30m1h", "1h1h", "", "h", "2020-02-30", "99999999999w", "-1d"] {
            #expect(try await directory.command("audit", "list", "--since=\(wrong)").status == 2, "\(wrong)")
        }
    }

    @Test("Each audit command reports that no record matches")
    func nothing() async throws {
        try await fill()
        for arguments in [
            ["list", "--user", "carol"], ["list", "--records", "--user", "carol"],
            ["export", "--csv", "--user", "carol"], ["export", "--json", "--user", "carol"], ["who-notified", "eve"],
        ] {
            let outcome = try await Program.run(
                ["audit"] + arguments + ["--config", "gateway.yaml"], in: directory.path)
            #expect(outcome.status == 0 && !outcome.errors.isEmpty, "\(arguments)")
        }
        let empty = try TestFiles.ofGateway()
        try FileManager.default.createDirectory(atPath: empty.path + "/journal", withIntermediateDirectories: true)
        chmod(empty.path + "/journal", 0o700)
        let tail = try await empty.command("audit", "tail")
        #expect(tail.status == 0 && tail.errors.contains("empty"))
    }

    @Test("An audit command exits with 0 if its reader closes the pipe early")
    func leavingReader() async throws {
        try await fill()
        for command in ["tail -n 10000", "list --records", "export --json"] {
            // The reader exits immediately and reads nothing.
            let outcome = try await Program.execute(
                "/bin/sh",
                [
                    "-c",
                    "exec 3>&1; { \(Program.path) audit \(command) --config gateway.yaml; echo $? >&3; } | exec true",
                ], in: directory.path)
            #expect(outcome.output == "0\n", "\(command): \(outcome)")
            // Warnings about the configuration are the only expected output.
            #expect(outcome.errors.split(separator: "\n").allSatisfy { $0.contains("warning:") }, "\(outcome.errors)")
        }
    }

    @Test("Each audit query in the README, the documentation and the help runs")
    func documented() async throws {
        try await fill()
        let call = try #require(try await rows("--user", "eve").last?.split(separator: " ").last.map(String.init))
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        var texts = try ["README.md", "deploy/README.md", "Sources/GatewayStore/README.md"].map {
            try String(contentsOf: root.appending(path: $0), encoding: .utf8)
        }
        let pages = root.appending(path: "docs")
        for page in try FileManager.default.contentsOfDirectory(atPath: pages.path()) where page.hasSuffix(".md") {
            texts.append(try String(contentsOf: pages.appending(path: page), encoding: .utf8))
        }
        for command in ["list", "show", "who-notified", "tail", "verify", "export", "key"] {
            texts.append(try await Program.run(["audit", command, "--help"]).output)
        }
        var queries: Set<String> = []
        for text in texts {
            for match in text.matches(of: /notify-gateway audit ([a-z-]+[^`\n|>\\]*)/) {
                // Usage lines of the argument parser are not queries.
                let query = String(match.1).trimmingCharacters(in: .whitespaces)
                if !query.contains("<"), !query.contains(" [") { queries.insert(query) }
            }
        }
        #expect(queries.count >= 8)
        #expect(queries.contains { $0.contains("would-refuse") })
        for query in queries {
            var arguments = query.split(separator: " ").map(String.init)
            // The examples name a directory and a call that do not exist here, and `tail -f` does not exit.
            if let place = arguments.firstIndex(of: "--copy") { arguments[place + 1] = "checkpoints" }
            if arguments.first == "show" { arguments[1] = call }
            arguments.removeAll { $0 == "-f" }
            let outcome = try await Program.run(
                ["audit"] + arguments + ["--config", "gateway.yaml"], in: directory.path)
            // Here is no archive; Tests/Archive runs this one with one.
            if query.contains("--archive") {
                #expect(outcome.status == 1 && outcome.errors.contains("--archive needs journal.archive"))
                continue
            }
            #expect(outcome.status == 0, "\(query): \(outcome.errors)")
            if query.contains("would-refuse") { #expect(outcome.output.contains("eve")) }
        }
    }
}
