import Foundation
import GatewayTesting
import Testing

@Suite("Commands that show keys and tokens")
struct TokenCommandTests {
    private let directory: TestFiles

    init() throws {
        directory = try TestFiles()
        try directory.write(
            """
            backend: { url: embedded }
            authenticators: [{ hmac-token: { keys: token-keys.yaml } }]
            policy: { send: [{ from: "*", to: "*" }] }
            """, to: "gateway.yaml")
    }

    private func run(_ arguments: String..., input: String = "") async throws -> Program.Outcome {
        try await Program.run(arguments + ["--config", "gateway.yaml"], input: input, in: directory.path)
    }

    @Test("`keys list` shows the state of each key and no secret")
    func keys() async throws {
        #expect(try await run("keys", "list").status == 1)
        try directory.write(
            """
            keys:
              - { id: next, algorithm: HS512, secret: "\(Self.secret(64))", not-before: 2999-01-01T00:00:00Z }
              - { id: k1, algorithm: HS256, secret: "\(Self.secret(32))", subjects: ["svc-*", bob], groups: [] }
              - { id: old, algorithm: HS256, secret: "\(Self.secret(33))", not-after: 2020-01-01T00:00:00Z, issue: false }
            """, to: "token-keys.yaml")
        let table = try await run("keys", "list")
        #expect(table.status == 0)
        #expect(
            table.output == """
                ID    ALGORITHM  STATE    NOT BEFORE            NOT AFTER             ISSUES  SUBJECTS   GROUPS
                next  HS512      pending  2999-01-01T00:00:00Z  -                     yes     (any)      (any)
                k1    HS256      signs    -                     -                     yes     svc-*,bob  -
                old   HS256      expired  -                     2020-01-01T00:00:00Z  no      (any)      (any)

                """)
        let json = try await run("keys", "list", "--json")
        let lines = json.output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(
            lines[1]
                == #"{"id":"k1","algorithm":"HS256","state":"signs","issue":true,"subjects":["svc-*","bob"],"groups":[]}"#
        )
        for length in [32, 33, 64] {
            #expect(!(table.output + json.output + json.errors).contains(Self.secret(length)))
        }

        try directory.write("keys: [{ id: k1 }]", to: "token-keys.yaml")
        #expect(try await run("keys", "list").status == 1)
    }

    @Test("`tokens inspect` shows the content of a token and the reason why one is invalid")
    func inspect() async throws {
        #expect(try await run("keys", "rotate", "--id", "k1").status == 0)
        let issued = try await run("tokens", "issue", "--user", "alice", "--group", "staff")
        let good = try await run("tokens", "inspect", input: issued.output)
        #expect(good.status == 0, "\(good.errors)")
        let rows = good.output.split(separator: "\n").map { $0.split(separator: " ").prefix(3).map(String.init) }
        #expect(rows.first == ["PART", "NAME", "VALUE"])
        for row in [["header", "kid", "k1"], ["claims", "sub", "alice"], ["result", "good", "yes"]] {
            #expect(rows.contains(row))
        }
        #expect(good.output.contains(#/claims +exp +\d+ \(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ\)/#))
        let json = try await run("tokens", "inspect", "--json", input: "  \(issued.output)\n\n")
        #expect(json.status == 0)
        let result = #""result":{"good":true,"user":"alice","groups":["staff"],"authenticator":"hmac-token"}}"#
        #expect(json.output.hasSuffix(result + "\n"))

        let tampered = try await run("tokens", "inspect", "--json", input: "A" + issued.output)
        #expect(tampered.status == 1)
        #expect(tampered.output.contains(#""header":null"#))
        let trimmed = issued.output.trimmingCharacters(in: .newlines)
        let cut = try await run("tokens", "inspect", input: String(trimmed.dropLast(3)))
        #expect(cut.status == 1)
        #expect(cut.errors.contains("did not sign this"))
        for nonsense in ["", "\n", "x", "\u{0}", String(repeating: ".", count: 100_000)] {
            #expect(try await run("tokens", "inspect", input: nonsense).status == 1)
        }
        // With other keys the same token is invalid.
        try FileManager.default.removeItem(atPath: directory.path + "/token-keys.yaml")
        #expect(try await run("tokens", "inspect", input: issued.output).status == 1)
        #expect(try await run("keys", "rotate", "--id", "k1").status == 0)
        let other = try await run("tokens", "inspect", input: issued.output)
        #expect(other.status == 1)
        #expect(other.errors == "The token is not valid: the key \"k1\" did not sign this.\n")
        // The output contains no escape sequence from a token.
        let header = Data(#"{"alg":"\u001b[2J","kid":"\u001b]0;x\u0007"}"#.utf8).base64EncodedString()
            .replacing("=", with: "").replacing("+", with: "-").replacing("/", with: "_")
        let escapes = try await run("tokens", "inspect", input: "\(header).e30.AA")
        #expect(escapes.status == 1)
        #expect(!escapes.output.contains("\u{1B}") && !escapes.errors.contains("\u{1B}"))
    }

    @Test("`tokens inspect` reads the tokens of a provider")
    func inspectProviderTokens() async throws {
        let provider = try await ProviderTokens(in: directory)
        #expect(try await run("keys", "rotate", "--id", "k1").status == 0)
        try directory.write(
            """
            backend: { url: embedded }
            authenticators: [{ hmac-token: { keys: token-keys.yaml } }, { \(ProviderTokens.authenticator) }]
            policy: { send: [{ from: "*", to: "*" }] }
            """, to: "gateway.yaml")
        let good = try await run("tokens", "inspect", input: try await provider.token("alice"))
        #expect(good.status == 0, "\(good)")
        let rows = good.output.split(separator: "\n").map { $0.split(separator: " ").prefix(3).map(String.init) }
        for row in [
            ["header", "kid", "p1"], ["claims", "sub", "alice"], ["result", "good", "yes"],
            ["result", "user", "alice"],
            ["result", "authenticator", "oidc"],
        ] {
            #expect(rows.contains(row), "\(row)")
        }
        let old = try await run("tokens", "inspect", input: try await provider.token("alice", seconds: -600))
        #expect(old.status == 1 && old.errors.hasSuffix("The token is not valid: it has expired.\n"), "\(old)")
        let capitals = try await run("tokens", "inspect", input: try await provider.token("Alice"))
        let reason = "The token is not valid: sub is not a user name by the rules of identity.\n"
        #expect(capitals.status == 1 && capitals.errors.hasSuffix(reason), "\(capitals)")
        // Tokens of `hmac-token` are still read.
        let issued = try await run("tokens", "issue", "--user", "alice")
        let own = try await run("tokens", "inspect", "--json", input: issued.output)
        #expect(own.status == 0 && own.output.contains(#""authenticator":"hmac-token""#))
        // The gateway cannot tell without keys.
        try directory.write(
            """
            backend: { url: embedded }
            authenticators: [{ oidc: { issuer: "http://127.0.0.1:1", audience: notify } }]
            policy: { send: [{ from: "*", to: "*" }] }
            """, to: "gateway.yaml")
        let foreign = try await run("tokens", "inspect", input: try await provider.token("alice"))
        #expect(foreign.status == 1 && foreign.errors.contains(#"iss is not "http://127.0.0.1:1""#), "\(foreign)")
    }

    private static let random = (0..<64).map { _ in UInt8.random(in: .min ... .max) }

    /// Returns the same secret for the same count.
    private static func secret(_ count: Int) -> String { Data(random[..<count]).base64EncodedString() }
}
