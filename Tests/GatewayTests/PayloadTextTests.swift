import Foundation
import FoundationXML
import GatewayCore
import GatewayTesting
import Testing

@testable import Gateway

/// What the backend makes of a message: it decodes one JSON string and pastes the result into a frame.
struct PastedPayload {
    static let frames: [(service: PushService, before: String, after: String)] = [
        (.apns, "{\"aps\":{\"alert\":\"", "\"}}"), (.fcm, "{ \"data\" : {\"message\":\"", "\"}}"),
        (.fcm, "{ \"message\":{\"data\" : {\"message\":\"", "\"}}}"),
        (
            .wns, "<toast><visual><binding template=\"ToastText01\"><text id=\"1\">",
            "</text></binding></visual></toast>"
        ),
    ]

    /// The text that a device reads out of the payload, or nil where the payload does not parse or holds anything else.
    static func text(in payload: String, of service: PushService) -> String? {
        service == .wns ? ToastReader.text(in: payload) : jsonText(in: payload)
    }

    private static func jsonText(in payload: String) -> String? {
        // Foundation's parser, not the product's.
        guard var value = try? JSONSerialization.jsonObject(with: Data(payload.utf8)) else { return nil }
        while let object = value as? [String: Any] {
            guard object.count == 1, let name = object.keys.first, let inner = object[name],
                ["aps", "alert", "data", "message"].contains(name)
            else { return nil }
            value = inner
        }
        return value as? String
    }

    private final class ToastReader: NSObject, XMLParserDelegate {
        private var text = ""
        private var elements: [String] = []

        static func text(in payload: String) -> String? {
            let reader = ToastReader()
            let parser = XMLParser(data: Data(payload.utf8))
            parser.delegate = reader
            guard parser.parse(), reader.elements == ["toast", "visual", "binding", "text"] else { return nil }
            return reader.text
        }

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) { elements.append(name) }

        func parser(_ parser: XMLParser, foundCharacters characters: String) { text += characters }
    }
}

@Suite struct PayloadTextTests {
    @Test func anyTextArrivesWholeInAPayloadThatParses() throws {
        var random = SplitMix(seed: 8)
        var refused = 0
        for _ in 0..<2500 {
            let typed = random.text(upTo: 30)
            for (service, before, after) in PastedPayload.frames {
                let payload: PayloadText
                do throws(Refusal) { payload = try PayloadText(typed, for: service) } catch {
                    // Only XML has characters that it cannot carry.
                    #expect(service == .wns && error.code == .malformedMessage)
                    #expect(
                        typed.unicodeScalars.contains {
                            ($0.value < 0x20 && ![9, 10, 13].contains($0.value)) || [0xFFFE, 0xFFFF].contains($0.value)
                        })
                    refused += 1
                    continue
                }
                let pasted = before + "From alice: " + String(decoding: payload.escaped, as: UTF8.self) + after
                let read = PastedPayload.text(in: pasted, of: service)
                #expect(
                    read.map(Self.scalars) == Self.scalars("From alice: \(typed)"),
                    "\(typed.unicodeScalars.map(\.value))")
                #expect(service == .wns || (try? JSONParser().parse(Array(pasted.utf8).span)) != nil)
            }
        }
        #expect(refused > 0 && refused < 2500)
    }

    /// Foundation's JSON takes a byte order mark in the middle of a text for one at its beginning, and drops it.
    private static func scalars(_ text: String) -> [UInt32] {
        text.unicodeScalars.map(\.value).filter { $0 != 0xFEFF }
    }

    @Test(arguments: [
        "\",\"badge\":9,\"x\":\"", "\"}},{\"aps\":{\"alert\":\"",
        "</text></binding></visual></toast><toast launch=\"evil\">",
        "<!--", "]]>", "<![CDATA[x]]>", "&lt;b&gt;", "&#x41;", "<?pi?>", "\\", "\\u0022", "\u{2028}", "\r\n",
    ])
    func injectionsAreText(_ typed: String) throws {
        for (service, before, after) in PastedPayload.frames {
            let payload = try PayloadText(typed, for: service)
            let pasted = before + String(decoding: payload.escaped, as: UTF8.self) + after
            #expect(PastedPayload.text(in: pasted, of: service).map { Array($0.utf8) } == Array(typed.utf8))
        }
    }

    /// The size that is checked is the size that the backend builds, to the byte.
    @Test func lengthsAreThoseOfThePayload() throws {
        let sender = UserName(canonical: "alice")!
        // The second frame of FCM is that of its third generation.
        for (frame, profile) in zip(
            PastedPayload.frames, [.classic, .core, .net6, .classic] as [BackendProfile.BuiltIn])
        {
            let frames = BackendProfile(profile).backend.allPayloadFrames()
            let payload = try PayloadText("a\"é<", for: frame.service)
            let pasted = frame.before + "From alice: " + String(decoding: payload.escaped, as: UTF8.self) + frame.after
            #expect(pasted.utf8.count == payload.payloadLength(from: sender, frame: frames[frame.service] ?? 0))
        }
    }

    @Test(arguments: [("apns", 4096 - 27 - 5), ("gcm", 4096 - 33 - 5), ("wns", 5120 - 101 - 5)])
    func payloadsBeyondTheLimitAreRefused(_ pns: String, _ longest: Int) async {
        let gateway = TestGateway()
        #expect(
            await gateway.serve(Sample.send("\"\(String(repeating: "x", count: longest))\"", pns: pns)).status == 200)
        await TestGateway().expect(
            .payloadTooLarge, for: Sample.send("\"\(String(repeating: "x", count: longest + 1))\"", pns: pns))
        // One byte of text can become several of payload.
        await TestGateway().expect(
            .payloadTooLarge, for: Sample.send("\"\(String(repeating: "\\u0022", count: longest / 2 + 1))\"", pns: pns))
    }
}
