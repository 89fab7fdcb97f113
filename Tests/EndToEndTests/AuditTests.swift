import Foundation
import GatewayTesting
import Testing

@Suite("Asking the journal")
struct AuditTests {
    private let directory: TestFiles

    init() throws {
        directory = try TestFiles()
        try directory.write(GatewayUnderTest.users, to: "users.yaml")
        try directory.write(
            """
            listen: [{ address: "127.0.0.1:0" }]
            admin: { address: "127.0.0.1:0" }
            control: control.sock
            backend: { url: embedded }
            authenticators: [{ static-users: { file: users.yaml } }]
            policy: { send: [{ from: alice, to: "*" }] }
            journal: { directory: journal, minimum-free: 0, checkpoint-copy: checkpoints }
            ledger: { file: ledger.sqlite }
            """, to: "gateway.yaml")
    }

    private func command(_ arguments: String...) async throws -> Program.Outcome {
        try await Program.run(arguments + ["--config", "gateway.yaml"], in: directory.path)
    }

    private func send(_ gateway: ServedProgram, from user: String, to recipient: String) async throws -> Int {
        try await gateway.client.call(
            "POST", "/api/notifications?pns=apns&to_tag=\(recipient)", as: user, body: #""hello""#
        ).status
    }

    /// Three notifications and a refusal, by a gateway that has stopped since.
    private func fill() async throws {
        let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await send(gateway, from: "alice", to: "bob") == 200)
            #expect(try await send(gateway, from: "alice", to: "bob") == 200)
            #expect(try await send(gateway, from: "alice", to: "carol") == 200)
            #expect(try await send(gateway, from: "eve", to: "bob") == 403)
        }
        #expect(status == 0)
    }

    @Test("A journal is verified while the gateway runs and afterwards; what was changed or cut is named, and exits 1")
    func verify() async throws {
        #expect(try await command("audit", "key").status == 69)
        let (_, _) = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await send(gateway, from: "alice", to: "bob") == 200)
            #expect(try await command("audit", "verify").status == 0)
        }
        let key = try await command("audit", "key")
        #expect(key.output.count == 45)
        let good = try await command("audit", "verify", "--copy", "checkpoints")
        #expect(good.status == 0, "\(good.errors)")
        // start, intent, outcome, stop, checkpoint
        #expect(
            good.output == "5 lines, 1 to 5; 1 checkpoints, signed through line 4; 1 checkpoints agree with the copy\n")
        #expect(try await command("audit", "verify", "--key", key.output.trimmingCharacters(in: .newlines)).status == 0)
        #expect(try await command("audit", "verify", "--key", "nonsense").status == 2)
        let foreign = try await command("audit", "verify", "--key", Data(repeating: 7, count: 32).base64EncodedString())
        #expect(foreign.status == 1)

        let segment = directory.path + "/journal/journal-00000000000000000001.jsonl"
        let text = try String(contentsOfFile: segment, encoding: .utf8)
        try text.replacing("\"bob\"", with: "\"eve\"", maxReplacements: 1)
            .write(toFile: segment, atomically: false, encoding: .utf8)
        let changed = try await command("audit", "verify")
        #expect(changed.status == 1)
        #expect(changed.errors == "The journal is not as it was written, at line 2: the line was changed.\n")
        let json = try await command("audit", "verify", "--json")
        #expect(json.output.contains(#""good":false"#) && json.output.contains(#""bad":2"#))

        let cut = text.split(separator: "\n").prefix(3).joined(separator: "\n") + "\n"
        try cut.write(toFile: segment, atomically: false, encoding: .utf8)
        #expect(try await command("audit", "verify").status == 0)
        let short = try await command("audit", "verify", "--copy", "checkpoints")
        #expect(short.status == 1)
        #expect(short.errors.contains("at line 4: lines are missing at the end"))
    }
}
