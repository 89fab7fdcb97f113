import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import Gateway

@Suite("Malformed and hostile credentials")
struct NaughtyCredentialTests {
    private func whoami(_ field: ReceivedRequest.FieldValue) -> ReceivedRequest {
        ReceivedRequest("GET /auth/whoami", authorization: field)
    }

    private func basic(_ bytes: [UInt8]) -> ReceivedRequest.FieldValue {
        .single(ByteBuffer(bytes: Array("Basic ".utf8) + Base64.encode(bytes, .standard)))
    }

    @Test(
        "Naughty strings as user, password or whole field grant nothing",
        .enabled(if: !TestData.naughtyStrings.isEmpty))
    func naughtyStrings() async {
        for (number, text) in TestData.naughtyStrings.enumerated() {
            let gateway = TestGateway()
            let requests = [
                ReceivedRequest.login(text, "alice's secret"), .login("alice", text), .login(text, text),
                whoami(.text(text)), whoami(.text("Basic \(text)")), whoami(.text("Bearer \(text)")),
            ]
            for request in requests {
                let response = await gateway.serve(request)
                #expect([400, 401].contains(response.status), "string \(number)")
            }
            // Only failed logins are recorded.
            let records = gateway.journal.records
            #expect(gateway.timeline.events.count == records.count, "string \(number)")
            #expect(records.allSatisfy { $0.result == "login-failed" && $0.facts?.user == nil }, "string \(number)")
        }
    }

    @Test("Random bytes as user and password grant nothing")
    func randomBytes() async {
        var random = SplitMix(seed: 31)
        let gateway = TestGateway { $0.limiter = Limiter([], clocks: ManualClock().clocks) }
        for number in 0..<2000 {
            let bytes = (0..<Int.random(in: 0...80, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            var request = whoami(basic(bytes))
            request.peer = .v4(UInt32(number))
            let status = await gateway.serve(request).status
            #expect([400, 401].contains(status))
        }
    }

    @Test("Long, truncated and repeated credentials grant nothing")
    func others() async {
        let authenticator = CountingAuthenticator(["alice": "alice's secret"])
        let gateway = TestGateway(asking: authenticator)
        let long = [UInt8](repeating: UInt8(ascii: "a"), count: 65_536)
        let colon = [UInt8(ascii: ":")]
        let fields: [ReceivedRequest.FieldValue] = [
            .repeated, basic(long), basic(long + colon + long), basic(Array("alice:".utf8) + long),
            .single(ByteBuffer(bytes: Array("Bearer ".utf8) + long)), .single(ByteBuffer(bytes: long)),
            basic(Array("alice:alice's secret".utf8) + [0]), basic([0] + Array("alice:alice's secret".utf8)),
            basic(Array("alice\0:alice's secret".utf8)), basic([0xFF, 0xFE] + Array(":x".utf8)), basic(colon),
            basic([]),
            .text("Basic Basic YWxpY2U6eA=="), .text("Bearer a, Basic YWxpY2U6eA=="),
        ]
        for field in fields {
            let response = await gateway.serve(whoami(field))
            #expect([400, 401].contains(response.status), "\(field)")
        }
        #expect(authenticator.verificationCount == 0)
        // This user name is short enough to be processed, and longer than any canonical name.
        #expect(await gateway.login(String(repeating: "a", count: 8000), "x") == 401)
    }
}
