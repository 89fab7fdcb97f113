import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import Gateway

/// The cases of JSONTestSuite (Nicolas Seriot, MIT), in the requests that carry JSON. The suite needs the corpus beside
/// the package.
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

    @Test("A registration body with invalid JSON is rejected")
    func aRegistrationBodyWithInvalidJSONIsRejected() async throws {
        let (before, after) = ("{\"Platform\":\"apns\",\"Handle\":\"\(Sample.apns)\",\"Tags\":[],\"x\":", "}")
        for file in TestData.jsonTestSuite {
            let name = file.lastPathComponent
            let bytes = Array(try Data(contentsOf: file))
            for body in [bytes, Array(before.utf8) + bytes + Array(after.utf8)] {
                let (response, gateway) = await serve(put(body))
                let time = cpuTime { _ = try? RegistrationBody.read(ByteBuffer(bytes: body)) }
                if !TestRun.isSanitized { #expect(time < .milliseconds(50), "\(name)") }
                // No case of the corpus is a registration by itself.
                let isWhole = body.count == bytes.count
                switch name.prefix(2) {
                case "n_":
                    #expect(response.code == .malformedRequest, "\(name)")
                    #expect(gateway.backend.requests.isEmpty && gateway.journal.records(.intent).isEmpty)
                case "y_":
                    // Unknown members are dropped unless a member name occurs twice.
                    let isOurs = !name.contains("duplicated_key")
                    #expect((response.status == 200) == (!isWhole && isOurs), "\(name): \(response.text)")
                    if response.status == 200 { #expect(gateway.backend.requests.last?.body == Self.canonical) }
                default:
                    // A case that JSON leaves to the parser is rejected or accepted, and never forwarded unchanged.
                    #expect(response.status == 200 || response.code == .malformedRequest, "\(name)")
                    if response.status == 200 { #expect(gateway.backend.requests.last?.body == Self.canonical) }
                }
            }
        }
    }

    private static let canonical = Array("{\"Platform\":\"apns\",\"Handle\":\"\(Sample.apns)\",\"Tags\":[]}".utf8)

    @Test("A JSON string as a message gives its decoded text")
    func aJSONStringAsAMessageGivesItsDecodedText() async throws {
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
                // The repaired body is text within quotation marks, as clients build it without escaping.
                let trimmed = bytes.drop { [0xEF, 0xBB, 0xBF, 0x20, 0x09, 0x0A, 0x0D].contains($0) }
                #expect(trimmed.first == UInt8(ascii: "\""), "\(name)")
            } else {
                #expect(response.code == .malformedMessage || response.code == .payloadTooLarge, "\(name)")
            }
        }
    }
}
