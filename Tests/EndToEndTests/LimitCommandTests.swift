import Foundation
import GatewayTesting
import Testing

@Suite("The limits command")
struct LimitCommandTests {
    private let directory: TestFiles

    init() throws {
        directory = try .ofGateway(
            """
            limits:
              - { name: pair, per: [sender, recipient], rate: 1/h, exempt: ["group:staff"] }
              - { name: calls, per: user, rate: 1/h, shadow: true }
            """)
    }

    private static let send = "/api/notifications?pns=apns&to_tag=carol"

    @Test(
        "`limits show` lists limited callers, `limits reset` frees them, and shadow rejections are recorded"
    )
    func showAndReset() async throws {
        let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
            func send(_ user: String) async throws -> Int {
                try await gateway.client.call("POST", Self.send, as: user, body: #""hi""#).status
            }
            #expect(try await gateway.command("limits", "show").output.isEmpty)
            #expect(try await send("alice") == 200)
            #expect(try await send("alice") == 429)
            // The limit exempts bob as a member of staff. The shadow limit counts each user and rejects nobody.
            for _ in 0..<3 { #expect(try await send("bob") == 200) }

            let table = try await gateway.command("limits", "show", "--limit", "pair")
            let rows = table.output.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
            #expect(
                rows.first == [
                    "LIMIT", "USER", "GROUP", "RECIPIENT", "PNS", "ADDRESS", "LEFT", "BURST", "WAIT", "SHADOW",
                ])
            #expect(rows.dropFirst().map { $0.prefix(4) } == [["pair", "alice", "-", "carol"]])
            let json = try await gateway.command("limits", "show", "--user", "bob", "--json")
            #expect(json.output.hasPrefix(#"{"limit":"calls","user":"bob","left":0,"burst":1,"#))
            #expect(json.output.contains(#""shadow":true}"#))

            let reset = try await gateway.command("limits", "reset", "--user", "ALICE", "--limit", "pair")
            #expect(reset.status == 0 && reset.errors.hasPrefix("Reset: 1 of alice."))
            #expect(try await send("alice") == 200)
            let nothing = try await gateway.command("limits", "reset", "--user", "eve")
            #expect(nothing.status == 0 && nothing.errors.hasPrefix("There was nothing"))

            let records = try GatewayUnderTest.journal(in: directory)
            let record = try #require(records.first { $0["action"] as? String == "operator-reset-limits" })
            #expect(record["user"] as? String == "alice" && record["target"] as? String == "limit pair")
            #expect(record["operator"] as? Int == Int(getuid()) && record["result"] as? String == "accepted")
            let intents = records.filter { $0["kind"] as? String == "intent" && $0["user"] as? String == "bob" }
            #expect(intents.map { $0["would-limit"] as? [String] } == [nil, ["calls"], ["calls"]])

            for wrong in [["--limit", "none"], ["--user", "a b"], ["--address", "here"], ["--pns", "smoke"]] {
                #expect(try await gateway.command("limits", "reset", wrong[0], wrong[1]).status == 1)
            }
            #expect(try await gateway.command("limits", "reset").status == 2)
            #expect(try await gateway.command("limits", "reset", "--all", "--user", "bob").status == 2)
        }
        #expect(status == 0)
    }
}
