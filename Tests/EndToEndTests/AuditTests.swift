import Foundation
import GatewayTesting
import Testing

@Suite("Audit commands")
struct AuditTests {
    private let directory: TestFiles

    init() throws {
        directory = try .ofGateway(
            """
            policy: { send: [{ from: alice, to: "*" }] }
            journal: { directory: journal, minimum-free: 0, checkpoint-copy: checkpoints }
            """)
    }

    private func send(_ gateway: ServedProgram, from user: String, to recipient: String) async throws -> Int {
        try await gateway.client.call(
            "POST", "/api/notifications?pns=apns&to_tag=\(recipient)", as: user, body: #""hello""#
        ).status
    }

    /// Records three accepted sends and one rejected send with a gateway that then stops.
    private func fill() async throws {
        let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await send(gateway, from: "alice", to: "bob") == 200)
            #expect(try await send(gateway, from: "alice", to: "bob") == 200)
            #expect(try await send(gateway, from: "alice", to: "carol") == 200)
            #expect(try await send(gateway, from: "eve", to: "bob") == 403)
        }
        #expect(status == 0)
    }

    @Test("The audit commands list, count, export and follow sends, as a table, as JSON and as CSV")
    func asking() async throws {
        try await fill()
        let table = try await directory.command("audit", "who-notified", "BOB")
        let rows = table.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(rows.first == ["SENDER", "COUNT", "FIRST", "LAST", "PLATFORMS", "REFUSED"])
        #expect(
            rows.dropFirst().map { [$0[0], $0[1], $0[$0.count - 2], $0[$0.count - 1]] } == [
                ["alice", "2", "apns", "0"], ["eve", "0", "-", "1"],
            ])
        let json = try await directory.command("audit", "who-notified", "bob", "--json", "--since", "1h")
        #expect(json.output.hasPrefix(#"{"sender":"alice","count":2,"first":"20"#))
        #expect(try await directory.command("audit", "who-notified", "no one").status == 1)
        #expect(try await directory.command("audit", "who-notified", "bob", "--since", "yesterday").status == 2)

        let list = try await directory.command("audit", "list", "--from", "alice", "--to", "carol")
        let titles = list.output.split(separator: "\n").first?.split(separator: " ").map(String.init)
        #expect(
            titles == [
                "TIME", "USER", "ACTION", "RECIPIENT", "PNS", "RESULT", "RULE", "LIMIT", "PEER", "COUNT", "CALL",
            ])
        #expect(list.output.split(separator: "\n").count == 2)
        for text in ["accepted", "send[0]", "127.0.0.1"] { #expect(list.output.contains(text)) }
        let records = try await directory.command("audit", "list", "--from", "alice", "--to", "carol", "--records")
        #expect(records.output.split(separator: "\n").count == 3)
        let call = try #require(list.output.split(separator: " ").last.map { $0.trimmingCharacters(in: .newlines) })
        let shown = try await directory.command("audit", "show", call)
        #expect(shown.status == 0 && shown.output.hasPrefix("call"))
        for text in ["user", "alice", "send[0]", "intent", "outcome", "accepted", "200"] {
            #expect(shown.output.contains(text))
        }
        #expect(try await directory.command("audit", "show", call, "--json").output.split(separator: "\n").count == 2)
        let unknown = try await directory.command("audit", "show", "nonsense")
        #expect(unknown.status == 1 && unknown.errors.contains("no call nonsense"))
        let refused = try await directory.command("audit", "list", "--result", "send-not-allowed", "--json")
        #expect(refused.output.contains(#""user":"eve""#))
        let few = try await directory.command("audit", "list", "--limit", "2")
        #expect(few.output.split(separator: "\n").count == 3)
        #expect(few.errors.contains("Only the newest"))
        #expect(try await directory.command("audit", "list", "--rows", "2").output == few.output)
        #expect(try await directory.command("audit", "list", "--action", "dance").status == 2)

        let all = try await directory.command("audit", "export", "--json")
        let csv = try await directory.command("audit", "export", "--csv")
        let lines = csv.output.split(separator: "\r\n")
        #expect(lines.count == all.output.split(separator: "\n").count + 1)
        #expect(lines.first?.hasPrefix("seq,at,kind,call,action,user,") == true)
        #expect(try await directory.command("audit", "export").status == 2)
        #expect(
            try await directory.command("audit", "tail", "-n", "2").output == all.output.split(separator: "\n").suffix(
                2
            )
            .joined(separator: "\n") + "\n")
        // A deleted index is built again.
        let index = directory.path + "/journal/index-00000000000000000001.bin"
        try? FileManager.default.removeItem(atPath: index)
        #expect(try await directory.command("audit", "who-notified", "BOB").output == table.output)
    }

    @Test("A recipient can read who notified them, and nothing else")
    func received() async throws {
        let (_, _) = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await send(gateway, from: "alice", to: "bob") == 200)
            #expect(try await send(gateway, from: "alice", to: "carol") == 200)
            // The gateway writes an outcome after it has sent the response.
            for recipient in ["bob", "carol"] {
                while try await directory.command("audit", "list", "--to", recipient, "--result", "accepted").output
                    .isEmpty
                {}
            }
            var answer = try await gateway.client.call("GET", "/auth/notifications-received", as: "bob")
            // The gateway responds with 503 while it first indexes the journal. The limit is ten requests a minute.
            while answer.status == 503 {
                _ = try await directory.command("audit", "key")
                answer = try await gateway.client.call("GET", "/auth/notifications-received", as: "bob")
            }
            #expect(answer.status == 200)
            #expect(
                answer.text.wholeMatch(of: /\{"notifications":\[\{"from":"alice","at":"[^"]+Z","platform":"apns"\}\]\}/)
                    != nil)
        }
    }

    @Test("A gateway starts with an index in any state and returns the same history to recipients")
    func damagedIndex() async throws {
        try await fill()
        // Each start closes the segment of the run before, and the next query indexes it.
        let (_, _) = try await ServedProgram.run(in: directory) { _ in }
        let path = directory.path + "/journal/index-00000000000000000001.bin"
        let before = try await directory.command("audit", "who-notified", "bob")
        let good = try Data(contentsOf: URL(filePath: path))
        let states: [(name: String, change: () throws -> Void)] = [
            ("zeros", { try Data(count: good.count).write(to: URL(filePath: path)) }),
            ("a torn page", { try (good.prefix(300) + Data(count: good.count - 300)).write(to: URL(filePath: path)) }),
            ("cut", { try good.prefix(500).write(to: URL(filePath: path)) }),
            ("text", { try Data("text".utf8).write(to: URL(filePath: path)) }),
            (
                "a directory that is not empty",
                {
                    try FileManager.default.removeItem(atPath: path)
                    try FileManager.default.createDirectory(atPath: path + "/kept", withIntermediateDirectories: true)
                }
            ),
        ]
        for (name, change) in states {
            try change()
            let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
                let answer = try await gateway.client.call("GET", "/auth/notifications-received", as: "bob")
                #expect(answer.status == 200, "\(name)")
                #expect(answer.text.matches(of: /"from":"alice"/).count == 2, "\(name): \(answer.text)")
                // The gateway replaces an index in the background. It cannot replace a directory that is not empty.
                while !FileManager.default.fileExists(atPath: path + "/kept"),
                    try await directory.command("audit", "verify").status != 0
                {}
            }
            #expect(status == 0, "\(name)")
            let isReplaced = !FileManager.default.fileExists(atPath: path + "/kept")
            #expect(try await directory.command("audit", "verify").status == (isReplaced ? 0 : 1), "\(name)")
            #expect(try await directory.command("audit", "who-notified", "bob").output == before.output, "\(name)")
        }
    }

    @Test("`audit verify` works during and after a run, and exits with 1 and the line if a line is changed or missing")
    func verify() async throws {
        #expect(try await directory.command("audit", "key").status == 69)
        let (_, _) = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await send(gateway, from: "alice", to: "bob") == 200)
            #expect(try await directory.command("audit", "verify").status == 0)
        }
        let key = try await directory.command("audit", "key")
        #expect(key.output.count == 45)
        let good = try await directory.command("audit", "verify", "--copy", "checkpoints")
        #expect(good.status == 0, "\(good.errors)")
        // The five lines: start, intent, outcome, stop, checkpoint.
        let lines = good.output.split(separator: "\n").map(String.init)
        #expect(
            lines.filter { !$0.hasPrefix("times") } == [
                "OK: the journal is unchanged.", "lines        5, 1 to 5", "segments     1",
                "checkpoints  1, signed through line 4; 1 agree with the copy",
                "index        none; closed segments get one with the next query",
            ], "\(good.output)")
        #expect(good.output.firstMatch(of: /times        20\S+Z to 20\S+Z/) != nil)
        #expect(
            try await directory.command("audit", "verify", "--key", key.output.trimmingCharacters(in: .newlines)).status
                == 0)
        #expect(try await directory.command("audit", "verify", "--key", "nonsense").status == 2)
        let foreign = try await directory.command(
            "audit", "verify", "--key", Data(repeating: 7, count: 32).base64EncodedString())
        #expect(foreign.status == 1)

        let segment = directory.path + "/journal/journal-00000000000000000001.jsonl"
        let text = try String(contentsOfFile: segment, encoding: .utf8)
        try text.replacing("\"bob\"", with: "\"eve\"", maxReplacements: 1)
            .write(toFile: segment, atomically: false, encoding: .utf8)
        let changed = try await directory.command("audit", "verify")
        #expect(changed.status == 1)
        #expect(changed.errors == "Verification failed at line 2: the line was changed.\n")
        let json = try await directory.command("audit", "verify", "--json")
        #expect(json.output.contains(#""good":false"#) && json.output.contains(#""bad":2"#))

        let cut = text.split(separator: "\n").prefix(3).joined(separator: "\n") + "\n"
        try cut.write(toFile: segment, atomically: false, encoding: .utf8)
        let known = try await directory.command("audit", "verify")
        #expect(known.status == 1)
        #expect(known.errors.contains("lines are missing at the end: the ledger has a checkpoint of line 5"))
        try FileManager.default.removeItem(atPath: directory.path + "/ledger.sqlite")
        #expect(try await directory.command("audit", "verify").status == 0)
        let short = try await directory.command("audit", "verify", "--copy", "checkpoints")
        #expect(short.status == 1)
        #expect(short.errors.contains("at line 4: lines are missing at the end"))
    }

    @Test("`audit verify` exits with 1 and the remedy if an index is damaged or cannot be read, and the remedy works")
    func unreadableIndex() async throws {
        try await fill()
        let (_, _) = try await ServedProgram.run(in: directory) { _ in }
        #expect(try await directory.command("audit", "list").status == 0)
        let journal = directory.path + "/journal"
        let index = journal + "/index-00000000000000000001.bin"
        let good = try Data(contentsOf: URL(filePath: index))
        try Data(count: good.count).write(to: URL(filePath: index))
        for more in [[], [], ["--discard-index"]] {
            let damaged = try await Program.run(
                ["audit", "verify", "--config", "gateway.yaml"] + more, in: directory.path)
            #expect(damaged.status == 1)
            #expect(damaged.errors.contains("The index differs from the journal"), "\(damaged.errors)")
            #expect(damaged.errors.contains("audit verify --discard-index") == more.isEmpty, "\(damaged.errors)")
        }
        #expect(try await directory.command("audit", "verify").status == 0)
        #expect(try await directory.command("audit", "list").status == 0)
        #expect(try Data(contentsOf: URL(filePath: index)) == good)
        // Root may open every file, so the index is a link that cannot be followed.
        try FileManager.default.removeItem(atPath: index)
        try FileManager.default.createSymbolicLink(atPath: index, withDestinationPath: "/nowhere")
        let verified = try await directory.command("audit", "verify")
        #expect(verified.status == 1)
        #expect(
            verified.errors.hasPrefix("The journal is unchanged, but its index cannot be read: "), "\(verified.errors)")
        for text in ["stop the gateway and delete ", "journal/index-*"] { #expect(verified.errors.contains(text)) }
        let json = try await directory.command("audit", "verify", "--json")
        #expect(json.status == 1 && json.output.contains(#""index":"unreadable""#))
        for name in try FileManager.default.contentsOfDirectory(atPath: journal) where name.hasPrefix("index-") {
            try FileManager.default.removeItem(atPath: journal + "/" + name)
        }
        #expect(try await directory.command("audit", "list").status == 0)
        #expect(try await directory.command("audit", "verify").status == 0)
    }
}
