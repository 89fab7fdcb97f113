import Foundation
import GatewayTesting
import Testing

@Suite("The explain command")
struct ExplainTests {
    private let directory: TestFiles

    init() throws {
        directory = try .ofGateway(
            """
            policy:
              send: [{ from: alice, to: bob }, { from: "group:staff", to: "*" }]
            limits: [{ name: pair, per: [sender, recipient], rate: 2/min }]
            """)
    }

    private static let send = "POST /api/notifications?pns=apns&to_tag=bob"

    private func explain(
        _ user: String, _ call: String, _ more: [String] = ["--body", #""hi""#]
    ) async throws -> (status: Int32, item: [String: Any]) {
        let outcome = try await Program.run(
            ["explain", "--user", user, "--json", "--config", "gateway.yaml"] + more + [call], in: directory.path)
        let item = try JSONSerialization.jsonObject(with: Data(outcome.output.utf8)) as? [String: Any]
        return (outcome.status, try #require(item, "\(outcome)"))
    }

    /// Returns the number of records that are on disk before the gateway acts. Outcome records may follow later.
    private func decided() throws -> Int {
        try GatewayUnderTest.journal(in: directory).count {
            ["intent", "refusal", "operator"].contains($0["kind"] as? String)
        }
    }

    private func left(_ item: [String: Any]) -> Int? {
        (item["limits"] as? [[String: Any]])?.first { $0["limit"] as? String == "pair" }?["left"] as? Int
    }

    @Test("`explain` uses the current limits of a running gateway and neither records, sends nor consumes anything")
    func running() async throws {
        let handle = String(repeating: "B0", count: 32)
        let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await gateway.client.register("bob", "apns", handle).status == 200)
            let before = try decided()
            for _ in 0..<3 { #expect(left(try await explain("alice", Self.send).item) == 2) }
            let sent = try await gateway.client.call(
                "POST", "/api/notifications?pns=apns&to_tag=bob", as: "alice", body: #""hi""#)
            #expect(sent.status == 200)
            let (status, item) = try await explain("alice", Self.send)
            #expect(status == 0 && left(item) == 1)
            // The account of bob has the group that the policy allows. The account of eve has no group, so the test
            // names one.
            let byAccount = try await explain("bob", Self.send.replacing("bob", with: "carol"))
            #expect(byAccount.status == 0 && byAccount.item["rule"] as? String == "send[1]")
            #expect(byAccount.item["groups"] as? [String] == ["staff"])
            #expect(try await explain("eve", Self.send).item["groups"] as? [String] == [])
            #expect(item["end"] as? String == "forwarded" && item["rule"] as? String == "send[0]")
            let requests = try #require(item["requests"] as? [[String: Any]])
            #expect(requests.count == 1)
            let text = try #require(requests.first?["request"] as? String)
            #expect(text.hasPrefix("POST /api/notifications?pns=apns&to_tag=bob HTTP/1.1\r\n"))
            #expect(text.contains("Authorization: (hidden)") && text.hasSuffix(#""hi""#))

            let refused = try await explain("eve", Self.send)
            #expect(refused.status == 1)
            #expect(refused.item["code"] as? String == "send-not-allowed" && refused.item["status"] as? Int == 403)
            let member = try await explain("eve", Self.send, ["--group", "staff", "--body", #""hi""#])
            #expect(member.status == 0 && member.item["rule"] as? String == "send[1]")

            // The device of bob, requested by bob and by eve.
            let put = "PUT /api/register/1-2-3"
            let body = ["--body", #"{"Platform":"apns","Handle":"\#(handle)","Tags":[]}"#]
            #expect(try await explain("bob", put, body).item["action"] as? String == "register-update")
            #expect(try await explain("eve", put, body).item["action"] as? String == "hand-over")
            #expect(try await explain("bob", put, body).item["action"] as? String == "register-update")
            // Only the send wrote a record.
            #expect(try decided() == before + 1)

            let table = try await gateway.command("explain", "--user", "alice", "--body", #""hi""#, Self.send)
            #expect(table.output.contains("rule       send[0]\n"))
            #expect(table.output.contains("\n  POST /api/notifications?pns=apns&to_tag=bob HTTP/1.1\n"))
        }
        #expect(status == 0)
    }

    @Test("Without a gateway, `explain` uses the configuration and the ledger on disk and writes no file")
    func stopped() async throws {
        let (status, item) = try await explain("alice", Self.send)
        #expect(status == 0 && left(item) == 2 && item["rule"] as? String == "send[0]")
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/ledger.sqlite"))
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/journal"))

        let handle = String(repeating: "B0", count: 32)
        _ = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await gateway.client.register("bob", "apns", handle).status == 200)
        }
        let records = try GatewayUnderTest.journal(in: directory).count
        let body = ["--body", #"{"Platform":"apns","Handle":"\#(handle)","Tags":[]}"#]
        let known = try await explain("eve", "PUT /api/register/1-2-3", body)
        #expect(known.item["action"] as? String == "hand-over")
        #expect(try GatewayUnderTest.journal(in: directory).count == records)
    }

    private func undecided(_ item: [String: Any]) -> [[String]] {
        (item["undecided"] as? [[String: String]] ?? []).map { [$0["authenticator"] ?? "", $0["reason"] ?? ""] }
    }

    @Test("`explain` reports an unknown user, with and without a running gateway", arguments: [true, false])
    func unknownUser(isRunning: Bool) async throws {
        func look() async throws {
            let unknown = try await explain("mallory", Self.send).item
            #expect(unknown["unknown_to"] as? [String] == ["static-users"] && unknown["undecided"] == nil)
            let known = try await explain("bob", Self.send.replacing("bob", with: "carol")).item
            #expect(known["unknown_to"] == nil && known["undecided"] == nil)
            #expect(known["groups"] as? [String] == ["staff"] && known["rule"] as? String == "send[1]")
            let table = try await directory.command("explain", "--user", "mallory", "--body", #""hi""#, Self.send)
            #expect(table.output.contains("account    none: unknown to static-users; a login would be rejected\n"))
        }
        guard isRunning else { return try await look() }
        _ = try await ServedProgram.run(in: directory) { _ async throws in try await look() }
    }

    @Test("`explain` calls no user unknown if an authenticator can decide only at a login", arguments: [true, false])
    func loginsOnly(isRunning: Bool) async throws {
        try directory.configure(
            """
            authenticators: [{ static-users: { file: users.yaml } }, { forward-auth: { url: "http://127.0.0.1:1/" } }]
            """)
        func look() async throws {
            let unknown = try await explain("mallory", Self.send).item
            #expect(unknown["unknown_to"] as? [String] == ["static-users"])
            #expect(undecided(unknown) == [["forward-auth", "logins-only"]])
            let known = try await explain("alice", Self.send).item
            #expect(known["unknown_to"] == nil && known["undecided"] == nil)
            let table = try await directory.command("explain", "--user", "mallory", "--body", #""hi""#, Self.send)
            let said = "undetermined: unknown to static-users; forward-auth reports accounts only at a login\n"
            #expect(table.output.contains(said), "\(table.output)")
        }
        guard isRunning else { return try await look() }
        _ = try await ServedProgram.run(in: directory) { _ async throws in try await look() }
    }

    @Test("Without a gateway, `explain` reports an unusable users file instead of an unknown user")
    func unusableFile() async throws {
        try directory.write(GatewayUnderTest.users, to: "users.yaml", mode: 0o644)
        let outcome = try await directory.command("explain", "--user", "alice", "--body", #""hi""#, Self.send)
        #expect(outcome.output.contains("undetermined: static-users cannot report it now (failed)\n"), "\(outcome)")
        #expect(outcome.errors.contains("Authenticator could not be created") && outcome.errors.contains("users.yaml"))
    }

    @Test(
        "Without a gateway, `explain` looks the account up through PAM",
        .enabled(if: PAMModules.matrix != nil, "needs pam_matrix"))
    func stoppedPAM() async throws {
        let stack = try PAMStack()
        try stack.useMatrix("nobody", "no-such-user")
        try directory.configure(
            "authenticators: [{ pam: { service: \(PAMStack.service), service-directory: \(stack.path) } }]")
        #expect(try await explain("no-such-user", Self.send).item["unknown_to"] as? [String] == ["pam"])
        let known = try await explain("nobody", Self.send).item
        #expect(known["unknown_to"] == nil && known["undecided"] == nil, "\(known)")
    }

    @Test("Without a gateway, `explain` accepts a token request if the configuration issues tokens")
    func stoppedIssuer() async throws {
        try directory.write(GatewayUnderTest.keys, to: "token-keys.yaml")
        try directory.configure(
            "authenticators: [{ static-users: { file: users.yaml } }, { hmac-token: { keys: token-keys.yaml } }]")
        let (status, item) = try await explain("alice", "POST /auth/token", [])
        #expect(status == 0 && item["end"] as? String == "answered-here", "\(item)")
    }

    @Test(
        "`explain` rejects a call that is not a valid request",
        arguments: ["POST", "POST  /x", "post /api/register", "POST x", "POST /api/register?handle=ä", "POST /#x"])
    func malformed(call: String) async throws {
        let outcome = try await Program.run(
            ["explain", "--user", "alice", "--config", "gateway.yaml", call], in: directory.path)
        #expect(outcome.status == 1 && outcome.output.isEmpty && !outcome.errors.isEmpty)
    }

    @Test("`explain --as-token` shows what a token becomes, with and without a running gateway, and no signature")
    func asToken() async throws {
        let directory = try TestFiles.ofGateway(
            """
            authenticators: [{ \(ProviderTokens.authenticator) }]
            policy:
              send: [{ from: alice, to: bob }, { from: "group:staff", to: "*" }]
            """)
        let provider = try await ProviderTokens(in: directory)
        let token = try await provider.token("mallory", #","groups":["staff"],"email":"m@example.org""#)
        try directory.write("\(token)\n", to: "token.txt")
        try directory.write(try await provider.token("mallory", seconds: -600), to: "old.txt")
        try directory.write("x.y.z\n", to: "nonsense.txt")
        let signature = try #require(token.split(separator: ".").last)
        func run(_ arguments: String..., input: String = "") async throws -> Program.Outcome {
            let all = ["explain", "--config", "gateway.yaml", "--body", #""hi""#] + arguments + [Self.send]
            let outcome = try await Program.run(all, input: input, in: directory.path)
            #expect(!outcome.output.contains(signature) && !outcome.errors.contains(signature))
            return outcome
        }
        func check() async throws {
            let good = try await run("--as-token", "token.txt", "--json")
            #expect(good.status == 0, "\(good)")
            let item = try JSONSerialization.jsonObject(with: Data(good.output.utf8)) as? [String: Any]
            #expect(item?["user"] as? String == "mallory" && item?["groups"] as? [String] == ["staff"])
            #expect(item?["rule"] as? String == "send[1]" && item?["end"] as? String == "forwarded")
            let seen = try #require(item?["token"] as? [String: Any])
            #expect(seen["authenticator"] as? String == "oidc")
            #expect((seen["claims"] as? [String: Any])?["email"] as? String == "m@example.org")
            let table = try await run("--as-token", "-", input: token)
            #expect(table.output.contains(#/claim email +m@example.org/#), "\(table)")
            #expect(table.output.contains(#/authenticator +oidc/#))
            let old = try await run("--as-token", "old.txt")
            #expect(old.status == 1)
            #expect(old.output.contains("refused: 401 credentials-rejected: the token is not valid: it has expired"))
            let nonsense = try await run("--as-token", "nonsense.txt")
            #expect(nonsense.status == 1 && nonsense.output.contains("401 credentials-rejected"), "\(nonsense)")
        }
        try await check()
        _ = try await ServedProgram.run(in: directory) { _ in try await check() }
        for more in ["--user", "--group"] {
            let all = ["explain", "--config", "gateway.yaml", "--as-token", "token.txt", more, "bob", Self.send]
            #expect(try await Program.run(all, in: directory.path).status == 2)
        }
        let missing = try await run("--as-token", "nowhere.txt")
        #expect(missing.status == 1 && missing.errors.contains("nowhere.txt cannot be read"), "\(missing)")
    }
}
