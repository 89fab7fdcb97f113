import Foundation
import GatewayTesting
import NotifyBackend
import Testing

@Suite("Restored and damaged ledgers") struct LedgerFileTests {
    private static let tokens = """
        authenticators: [{ static-users: { file: users.yaml } }, { hmac-token: { keys: token-keys.yaml, issuer: i, audience: a } }]
        """

    private func issue(_ client: RawClient) async throws -> String {
        let answer = try await client.call("POST", "/auth/token", as: "alice", body: #"{"device":"phone"}"#)
        let json = try JSONSerialization.jsonObject(with: Data(answer.text.utf8)) as? [String: Any]
        return try #require(json?["access_token"] as? String, "\(answer.text)")
    }

    private func whoami(_ client: RawClient, _ token: String) async throws -> Int {
        try await client.call("GET", "/auth/whoami", token: token).status
    }

    @Test(
        "A restored ledger invalidates each token from before the restore, unless the operator keeps the sessions"
    )
    func restored() async throws {
        let directory = try TestFiles.ofGateway(Self.tokens)
        try directory.write(GatewayUnderTest.keys, to: "token-keys.yaml")
        let file = { (name: String) in "\(directory.path)/\(name)" }
        let (tokens, _) = try await ServedProgram.run(in: directory) { gateway async throws in
            let (stolen, kept) = (try await issue(gateway.client), try await issue(gateway.client))
            let backup = try await gateway.command("backup", file(""))
            #expect(backup.status == 0, "\(backup)")
            #expect(try await gateway.client.call("DELETE", "/auth/token", token: stolen).status == 204)
            #expect(try await whoami(gateway.client, stolen) == 401)
            return (stolen, kept)
        }
        for isKept in [false, true] {
            let restore = try await directory.command("restore", file(""), "--replace")
            #expect(restore.status == 0, "\(restore)")
            // A command does not consume the marker of the restore.
            #expect(try await directory.command("tokens", "list").status == 0)
            let more = isKept ? ["--keep-restored-sessions"] : []
            _ = try await ServedProgram.run(in: directory, arguments: more) { gateway async throws in
                #expect(try await whoami(gateway.client, tokens.0) == (isKept ? 200 : 401))
                #expect(try await whoami(gateway.client, tokens.1) == (isKept ? 200 : 401))
                #expect(try await whoami(gateway.client, try await issue(gateway.client)) == 200)
            }
        }
    }

    @Test(
        "A gateway refuses a damaged ledger that was not closed, and is not ready with one that was closed"
    )
    func damaged() async throws {
        let directory = try TestFiles.ofGateway()
        _ = try await ServedProgram.run(in: directory) { gateway async throws in
            for number in 100..<160 {
                let handle = String(repeating: "AB", count: 30) + "\(number)" + "0"
                #expect(try await gateway.client.register("alice", "apns", handle).status == 200)
            }
        }
        let url = URL(filePath: "\(directory.path)/ledger.sqlite")
        var bytes = try Data(contentsOf: url)
        // The damaged pages are leaves of indexes. A start after an orderly close reads none of them.
        var damaged = 0
        for page in 1..<(bytes.count / 4096) where bytes[page * 4096] == 0x0A {
            let count = Int(bytes[page * 4096 + 3]) << 8 | Int(bytes[page * 4096 + 4])
            guard count > 20 else { continue }
            bytes.replaceSubrange((page * 4096 + 2048)..<((page + 1) * 4096), with: Data(count: 2048))
            damaged += 1
        }
        try #require(damaged > 0)
        try bytes.write(to: url)
        let check = try await directory.command("check")
        #expect(check.output.contains("damaged"), "\(check)")
        let state = URL(filePath: "\(directory.path)/ledger.sqlite.state")
        let closed = try String(contentsOf: state, encoding: .utf8)
        try directory.write(closed.replacing("closed", with: "open"), to: "ledger.sqlite.state")
        let refused = try await directory.command("serve")
        #expect(refused.status != 0)
        #expect(refused.errors.contains("ledger.sqlite is damaged: "), "\(refused)")
        #expect(refused.errors.contains("notify-gateway restore"), "\(refused)")
        try directory.write(closed, to: "ledger.sqlite.state")
        _ = try await ServedProgram.run(in: directory) { gateway async throws in
            let admin = try RawClient(port: try #require(gateway.adminPort))
            let deadline = ContinuousClock.now + .seconds(20)
            var ready = try await admin.call("GET", "/health/ready")
            while ready.status == 200, ContinuousClock.now < deadline {
                ready = try await admin.call("GET", "/health/ready")
            }
            #expect(ready.status == 503 && ready.text.contains("ledger: damaged"), "\(ready.text)")
            let answer = try await gateway.client.call(
                "POST", "/api/register?handle=\(String(repeating: "CD", count: 32))", as: "bob")
            #expect(answer.status == 503 && answer.problem == "ledger-unavailable", "\(answer.text)")
            let sent = try await gateway.client.call(
                "POST", "/api/notifications?pns=apns&to_tag=bob", as: "alice", body: #""hi""#)
            #expect(sent.status == 200)
        }
    }
}
