import Foundation
import GatewayTesting
import NotifyBackend
import Testing

@Suite("Request heads on the admin listener and the embedded backend")
struct AdminHeadTests {
    /// Returns a request head with the path and the fields, without the final empty line if it is not whole.
    private static func head(_ path: String, _ fields: [String], isWhole: Bool = true) -> String {
        "GET \(path) HTTP/1.1\r\nHost: a\r\n" + fields.map { "\($0)\r\n" }.joined() + (isWhole ? "\r\n" : "")
    }

    private static func field(_ bytes: Int) -> String { "X: \(String(repeating: "x", count: bytes - 1))" }

    @Test(
        "The admin listener accepts heads up to the public limits and rejects larger ones with 400"
    )
    func admin() async throws {
        try await GatewayUnderTest.run { gateway in
            let client = try RawClient(port: gateway.adminPort)
            let path = "/health/live"
            let good = [
                Self.head(path, [Self.field(8 << 10)]),
                Self.head(path, [Self.field(8 << 10), Self.field(7 << 10)]),
                Self.head(path, (0..<99).map { "X-\($0): x" }),
            ]
            for head in good { #expect(try await client.send(head).status == 200) }
            let bad = [
                Self.head("/" + String(repeating: "a", count: 8 << 10), []),
                Self.head(path, [Self.field((8 << 10) + 2)]),
                Self.head(path, [Self.field(8 << 10), Self.field(8 << 10), "Y: y"]),
                Self.head(path, (0..<100).map { "X-\($0): x" }),
                // The rejection does not wait for the end of the head.
                Self.head(path, [Self.field(20 << 10)], isWhole: false),
            ]
            for head in bad {
                let answer = try await client.send(head)
                #expect(answer.status == 400)
                #expect(answer.field("Connection") == "close")
            }
            #expect(try await client.send(Self.head(path, [])).status == 200)
        }
    }

    @Test("The embedded backend rejects heads above its own limits with 400")
    func embedded() async throws {
        try await GatewayUnderTest.runBackend(.classic, hub: .init()) { port in
            let client = try RawClient(port: port)
            #expect(try await client.send(Self.head("/inbox/H", (0..<255).map { "X-\($0): x" })).status == 200)
            for head in [
                Self.head("/inbox/H", (0..<256).map { "X-\($0): x" }),
                Self.head("/inbox/H", [Self.field((32 << 10) + 2)]),
                Self.head("/inbox/H", [Self.field(32 << 10), Self.field(32 << 10), "Y: y"]),
            ] { #expect(try await client.send(head).status == 400) }
        }
    }
}
