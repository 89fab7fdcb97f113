import Foundation
import GatewayCore
import GatewayTesting
import NIOCore
import Testing

@testable import Gateway

/// The cases of JSONTestSuite (Nicolas Seriot, MIT) in the calls that take JSON, where they are present.
@Suite(
    .enabled(if: !TestData.jsonTestSuite.isEmpty, "JSONTestSuite is not beside the package"), .timeLimit(.minutes(5)))
struct JSONSuiteCallTests {
    private func serve(_ request: ReceivedRequest) async -> (response: Response, gateway: TestGateway) {
        let gateway = TestGateway { $0.limiter = Limiter([], clocks: ManualClock().clocks) }
        return (await gateway.serve(request), gateway)
    }

    private func put(_ body: [UInt8]) -> ReceivedRequest {
        ReceivedRequest(
            "PUT /api/register/\(Sample.label)", as: "alice", contentType: .text("application/json"), body: body)
    }

    @Test func insideARegistrationWhatIsNoJSONIsRefused() async throws {
        let (before, after) = ("{\"Platform\":\"apns\",\"Handle\":\"\(Sample.apns)\",\"Tags\":[],\"x\":", "}")
        for file in TestData.jsonTestSuite {
            let name = file.lastPathComponent
            let bytes = Array(try Data(contentsOf: file))
            for body in [bytes, Array(before.utf8) + bytes + Array(after.utf8)] {
                let (response, gateway) = await serve(put(body))
                let time = cpuTime { _ = try? RegistrationBody.read(ByteBuffer(bytes: body)) }
                if !TestRun.isSanitized { #expect(time < .milliseconds(50), "\(name)") }
                // Alone, nothing in the suite is a registration.
                let isWhole = body.count == bytes.count
                switch name.prefix(2) {
                case "n_":
                    #expect(response.code == .malformedRequest, "\(name)")
                    #expect(gateway.backend.requests.isEmpty && gateway.journal.records(.intent).isEmpty)
                case "y_":
                    // Unknown members are dropped, if their shape is ours: no name twice.
                    let isOurs = !name.contains("duplicated_key")
                    #expect((response.status == 200) == (!isWhole && isOurs), "\(name): \(response.text)")
                    if response.status == 200 { #expect(gateway.backend.requests.last?.body == Self.canonical) }
                default:
                    // What is up to the parser is refused or taken, and never forwarded as it came.
                    #expect(response.status == 200 || response.code == .malformedRequest, "\(name)")
                    if response.status == 200 { #expect(gateway.backend.requests.last?.body == Self.canonical) }
                }
            }
        }
    }

    private static let canonical = Array("{\"Platform\":\"apns\",\"Handle\":\"\(Sample.apns)\",\"Tags\":[]}".utf8)

    @Test func asAMessageAStringIsItsText() async throws {
        for file in TestData.jsonTestSuite {
            let name = file.lastPathComponent
            let bytes = Array(try Data(contentsOf: file))
            let time = cpuTime { _ = try? MessageExtraction.auto.text(of: ByteBuffer(bytes: bytes)) }
            if !TestRun.isSanitized { #expect(time < .milliseconds(50), "\(name)") }
            let (response, gateway) = await serve(
                ReceivedRequest(
                    "POST /api/notifications?pns=apns&to_tag=bob", as: "alice",
                    contentType: .text("application/json"), body: bytes))
            let parsed = try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)
            if name.hasPrefix("y_"), let text = parsed as? String {
                #expect(response.status == 200, "\(name)")
                let sent = try #require(gateway.backend.requests.first).body
                let decoded = try JSONParser().parse(sent.span).string ?? ""
                let payload = "{\"aps\":{\"alert\":\"From alice: \(decoded)\"}}"
                #expect(
                    DevicePayload.text(in: payload).map { Array($0.utf8) }
                        == Array("From alice: \(text)".utf8))
            } else if name.hasPrefix("y_") {
                #expect(response.code == .malformedMessage, "\(name)")
            } else if response.status == 200 {
                // Repaired: something in quotation marks, as clients paste it together.
                let trimmed = bytes.drop { [0xEF, 0xBB, 0xBF, 0x20, 0x09, 0x0A, 0x0D].contains($0) }
                #expect(trimmed.first == UInt8(ascii: "\""), "\(name)")
            } else {
                #expect(response.code == .malformedMessage || response.code == .payloadTooLarge, "\(name)")
            }
        }
    }
}
