import Foundation
import GatewayTesting
import NotifyBackend
import Testing

@Suite("Holes of logging in") struct CredentialHoleTests {
    /// Asks for an id with these `Authorization` lines.
    private func status(_ client: RawClient, _ fields: String...) async throws -> RawClient.Response {
        let lines = fields.map { "Authorization: \($0)\r\n" }.joined()
        return try await client.send(
            "POST /api/register HTTP/1.1\r\nHost: gateway.test\r\nContent-Length: 0\r\n\(lines)\r\n")
    }

    private func basic(_ text: String) -> String { "Basic " + Data(text.utf8).base64EncodedString() }

    @Test("To know a name is not to know the password", .shows(.v14), arguments: BackendFlavor.allCases)
    func mirror(flavor: BackendFlavor) async throws {
        try await HoleBench.run(flavor) { bench async throws in
            #expect(try await status(bench.direct, basic("mallory:mallory")).status == 200)
            let before = bench.gateway.seen.all.count
            for name in ["mallory", "root"] {
                let refused = try await status(bench.gateway.client, basic("\(name):\(name)"))
                #expect(refused.status == 401 && refused.problem == "credentials-rejected")
            }
            #expect(bench.gateway.seen.all.count == before)
        }
    }

    @Test(
        "A credential ends where it ends, and nobody is no user", .shows(.v15), arguments: BackendFlavor.allCases)
    func lengths(flavor: BackendFlavor) async throws {
        try await HoleBench.run(flavor) { bench async throws in
            for pair in [":", "alice:alice:x"] {
                #expect(try await status(bench.direct, basic(pair)).status == 200, "\(pair)")
            }
            #expect(try await status(bench.gateway.client, basic("alice:alice")).status == 200)
            for pair in [":", ":x", "alice:", "alice", "alice:alice:x", "alice:alice\u{0}", "alice:alice "] {
                let refused = try await status(bench.gateway.client, basic(pair))
                #expect(refused.status == 401 && refused.problem == "credentials-rejected", "\(pair)")
            }
        }
    }

    @Test("Whatever stands for a credential is answered", .shows(.v16), arguments: BackendFlavor.allCases)
    func malformed(flavor: BackendFlavor) async throws {
        try await HoleBench.run(flavor) { bench async throws in
            if flavor == .classic { #expect(try await status(bench.direct).status == 500) }
            let before = bench.gateway.seen.all.count
            let client = bench.gateway.client
            let missing = try await status(client)
            #expect(missing.status == 401 && missing.problem == "credentials-missing")
            let challenges = missing.fields.filter { $0.name.lowercased() == "www-authenticate" }.map(\.value)
            #expect(challenges == [#"Basic realm="notify", charset="UTF-8""#, "Bearer"])
            for field in ["Basic", "Basic !!!", "Basic YQ", "Bearer", "Bearer a b", "Digest x", "x"] {
                let refused = try await status(client, field)
                #expect(refused.status == 401 && refused.problem == "credentials-rejected", "\(field)")
                #expect(refused.field("WWW-Authenticate") != nil)
            }
            #expect([400, 401].contains(try await status(client, "Basic \u{FF}").status))
            let twice = try await status(client, basic("alice:alice"), basic("bob:bob"))
            #expect([400, 401].contains(twice.status))
            #expect(bench.gateway.seen.all.count == before)
        }
    }
}
