import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

/// The frames that the backend builds payloads with. The backend decodes one JSON string and inserts it into the frame
/// unescaped.
struct PastedPayload {
    static let frames: [(service: PushService, before: String, after: String)] = [
        (.apns, "{\"aps\":{\"alert\":\"", "\"}}"), (.fcm, "{ \"data\" : {\"message\":\"", "\"}}"),
        (.fcm, "{ \"message\":{\"data\" : {\"message\":\"", "\"}}}"),
        (
            .wns, "<toast><visual><binding template=\"ToastText01\"><text id=\"1\">",
            "</text></binding></visual></toast>"
        ),
    ]
}

@Suite struct EscapedTextTests {
    @Test("Any text arrives unchanged in a payload that parses")
    func anyTextArrivesUnchangedInAPayloadThatParses() throws {
        var random = SplitMix(seed: 8)
        var refused = 0
        for _ in 0..<2500 {
            let typed = random.text(upTo: 30)
            for (service, before, after) in PastedPayload.frames {
                let payload: [UInt8]
                do throws(Rejection) { payload = try EscapedText.bytes(of: typed, for: service) } catch {
                    // Only XML has characters that it cannot represent.
                    #expect(service == .wns && error.code == .malformedMessage)
                    #expect(
                        typed.unicodeScalars.contains {
                            ($0.value < 0x20 && ![9, 10, 13].contains($0.value)) || [0xFFFE, 0xFFFF].contains($0.value)
                        })
                    refused += 1
                    continue
                }
                let pasted = before + "From alice: " + String(decoding: payload, as: UTF8.self) + after
                let read = DevicePayload.text(in: pasted)
                #expect(
                    read.map(Self.scalars) == Self.scalars("From alice: \(typed)"),
                    "\(typed.unicodeScalars.map(\.value))")
                #expect(service == .wns || (try? JSONParser().parse(Array(pasted.utf8).span)) != nil)
            }
        }
        #expect(refused > 0 && refused < 2500)
    }

    /// The scalars without U+FEFF. Foundation's JSON parser takes that character for a byte order mark and drops it.
    private static func scalars(_ text: String) -> [UInt32] {
        text.unicodeScalars.map(\.value).filter { $0 != 0xFEFF }
    }

    @Test(
        "Injected markup arrives as text",
        arguments: [
            "\",\"badge\":9,\"x\":\"", "\"}},{\"aps\":{\"alert\":\"",
            "</text></binding></visual></toast><toast launch=\"evil\">",
            "<!--", "]]>", "<![CDATA[x]]>", "&lt;b&gt;", "&#x41;", "<?pi?>", "\\", "\\u0022", "\u{2028}", "\r\n",
        ])
    func injectedMarkupArrivesAsText(_ typed: String) throws {
        for (service, before, after) in PastedPayload.frames {
            let payload = try EscapedText.bytes(of: typed, for: service)
            let pasted = before + String(decoding: payload, as: UTF8.self) + after
            #expect(DevicePayload.text(in: pasted).map { Array($0.utf8) } == Array(typed.utf8))
        }
    }

    @Test("The checked length equals the payload's length in bytes")
    func theCheckedLengthEqualsThePayloadsLengthInBytes() throws {
        let sender = UserName(canonical: "alice")!
        // The second frame of FCM belongs to the third generation of the backend.
        for (frame, profile) in zip(
            PastedPayload.frames, [.classic, .core, .net6, .classic] as [BackendProfile.BuiltIn])
        {
            let codec = NotifyUsersCodec(
                backend: BackendProfile(profile).backend, host: "backend.test", credential: .mirror)
            let short = try codec.content(of: "a\"é<", for: frame.service, from: sender)
            let pasted = frame.before + "From alice: " + String(decoding: short, as: UTF8.self) + frame.after
            let rest = String(repeating: "x", count: frame.service.payloadLimit - pasted.utf8.count)
            #expect(throws: Never.self) { try codec.content(of: "a\"é<" + rest, for: frame.service, from: sender) }
            #expect(throws: Rejection.self) {
                try codec.content(of: "a\"é<x" + rest, for: frame.service, from: sender)
            }
        }
    }

    @Test(
        "A payload above the limit of its service is rejected",
        arguments: [("apns", 4096 - 27 - 5), ("gcm", 4096 - 33 - 5), ("wns", 5120 - 101 - 5)])
    func aPayloadAboveTheLimitOfItsServiceIsRejected(_ pns: String, _ longest: Int) async {
        let gateway = TestGateway()
        #expect(
            await gateway.serve(Sample.send("\"\(String(repeating: "x", count: longest))\"", pns: pns)).status == 200)
        await TestGateway().expect(
            .payloadTooLarge, for: Sample.send("\"\(String(repeating: "x", count: longest + 1))\"", pns: pns))
        // One byte of text can expand to several bytes of payload.
        await TestGateway().expect(
            .payloadTooLarge, for: Sample.send("\"\(String(repeating: "\\u0022", count: longest / 2 + 1))\"", pns: pns))
    }
}
