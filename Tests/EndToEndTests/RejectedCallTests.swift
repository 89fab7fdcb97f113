import GatewaySupport
import GatewayTesting
import NotifyBackend
import Testing

@Suite("Calls that the gateway rejects")
struct RejectedCallTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let method: String
        let target: String
        var body: String? = nil
        let status: Int
        let code: String

        var testDescription: String { "\(method) \(target) is \(code)" }
    }

    /// A send that is rejected with status 400.
    private static func send(_ query: String, _ body: String = #""x""#, is code: String = "malformed-request") -> Case {
        Case(method: "POST", target: "/api/notifications?\(query)", body: body, status: 400, code: code)
    }

    /// An update of a registration that is rejected with status 400.
    private static func update(_ path: String) -> Case {
        Case(method: "PUT", target: "/api/register\(path)", body: registration, status: 400, code: "malformed-request")
    }

    static let cases =
        [
            send("pns=apns&to_tag=bob%7C%7Cusername:carol"), send("pns=apns&to_tag=bob||username:carol"),
            send("pns=apns&to_tag=x%7C%7C!y"), send("pns=apns&to_tag=bob&to_tag=carol"),
            send("pns=apns&TO_TAG=bob&to_tag=carol"), send("pns=adm&to_tag=bob", is: "unknown-platform"),
            send("pns=apns"), send("pns=apns&to_tag=bob", "hello", is: "malformed-message"),
            update("?id=1-2-3"), update("/1-2-3?id=1-2-3"), update("/.."), update("/%2e%2e"),
            Case(method: "DELETE", target: "/api/register/..", status: 400, code: "malformed-request"),
            Case(
                method: "POST", target: "/api/register?handle=%27%20or%20true", status: 400, code: "handle-unusable"),
        ]
        + ["/api/notifications/1", "/Help", "/health/live"].map {
            Case(method: "GET", target: $0, status: 404, code: "no-route")
        } + [Case(method: "GET", target: "/api/register", status: 405, code: "method-not-allowed")]

    static let registration =
        #"{"Platform":"apns","Handle":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","Tags":[]}"#

    @Test("An invalid call gets its rejection code, and the backend receives nothing")
    func rejections() async throws {
        try await GatewayUnderTest.run { gateway in
            for refused in Self.cases {
                let answer = try await gateway.client.call(
                    refused.method, refused.target, as: "alice", body: refused.body)
                #expect(answer.status == refused.status, "\(refused.testDescription)")
                #expect(answer.problem == refused.code, "\(refused.testDescription)")
                #expect(answer.field("Cache-Control") == "no-store")
            }
            #expect(gateway.seen.all.isEmpty)
        }
    }

    @Test("A call without valid credentials is rejected with a challenge for both schemes")
    func credentials() async throws {
        try await GatewayUnderTest.run { gateway in
            let target = "/api/notifications?pns=apns&to_tag=bob"
            let none = try await gateway.client.call("POST", target, body: #""x""#)
            #expect(none.problem == "credentials-missing")
            let challenges = none.fields.filter { $0.name.lowercased() == "www-authenticate" }.map(\.value)
            #expect(challenges == [#"Basic realm="notify", charset="UTF-8""#, "Bearer"])
            // The user mallory does not exist. A tutorial backend accepts equal name and password.
            let unknown = try await gateway.client.call("POST", target, as: "mallory", body: #""x""#)
            #expect(unknown.status == 401)
            let wrong = try await gateway.client.send(
                "POST \(target) HTTP/1.1\r\nHost: a\r\nAuthorization: Basic YWxpY2U6d3Jvbmc=\r\n"
                    + "Content-Length: 3\r\n\r\n\"x\"")
            #expect(wrong.status == 401)
            #expect(wrong.body == unknown.body)
            let forged = try await gateway.client.call("POST", target, token: "a.b.c", body: #""x""#)
            #expect(forged.problem == "credentials-rejected")
            #expect(gateway.seen.all.isEmpty)
        }
    }

    @Test("A sender above a rate limit gets 429 with `Retry-After`")
    func limits() async throws {
        let limits = "limits: [{ name: pair, per: [sender, recipient], rate: 2/h }]"
        try await GatewayUnderTest.run(more: limits) { gateway in
            func send(to recipient: String) async throws -> RawClient.Response {
                try await gateway.client.call(
                    "POST", "/api/notifications?pns=apns&to_tag=\(recipient)", as: "alice", body: #""x""#)
            }
            #expect(try await send(to: "bob").status == 200)
            #expect(try await send(to: "BOB").status == 200)
            let third = try await send(to: "bob")
            #expect(third.status == 429)
            #expect(third.problem == "rate-limited")
            #expect(third.field("Retry-After").flatMap { Int($0) } ?? 0 > 1700)
            #expect(try await send(to: "carol").status == 200)
            #expect(gateway.seen.all.count == 3)
        }
    }
}
