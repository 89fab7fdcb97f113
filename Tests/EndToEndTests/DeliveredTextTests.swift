import Foundation
import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import NotifyBackend

/// The request pipeline in front of the embedded backend, without sockets. For any sender, text and platform, the
/// payload that the backend builds parses and contains the text unchanged.
@Suite("Delivered text", .timeLimit(.minutes(5)))
struct DeliveredTextTests {
    private static let names = NameRules(escaping: .hex)
    private static let handles = [
        "apns": String(repeating: "B0", count: 32), "gcm": "bobs-android-token-0001",
        "wns": "https://db5.notify.windows.com/?token=bobs",
    ]

    private func gateway(_ flavor: BackendFlavor, _ hub: NotificationHub, _ user: UserName) throws -> TestGateway {
        let api = NotifyUsersAPI(flavor: flavor, hub: hub)
        let profile = try #require(BackendProfile.BuiltIn(rawValue: flavor.rawValue))
        return TestGateway(
            profile,
            adjust: { rules in
                rules.names = Self.names
                rules.limiter = Limiter([], clocks: ManualClock().clocks)
                rules.authenticators = AuthenticatorChain([
                    .init(
                        name: "scripted", credentialKinds: [.bearer],
                        authenticator: ScriptedAuthenticator(
                            always: .accepted(Identity(user: user, authenticator: "scripted"))))
                ])
            },
            answering: { seen in
                let answer = api.response(
                    to: BackendRequest(
                        method: seen.method, target: seen.target, authorization: seen.values("Authorization").first,
                        contentType: seen.values("Content-Type").first, accept: seen.values("Accept").first,
                        body: seen.body))
                return .status(answer.status, answer.body)
            })
    }

    private func call(_ line: String, _ body: [UInt8]) -> ReceivedRequest {
        ReceivedRequest(
            line, authorization: .text("Bearer x"), contentType: body.isEmpty ? .absent : .text("application/json"),
            body: body)
    }

    private static func user(_ random: inout SplitMix) -> UserName {
        while true {
            if let user = names.canonical(LoginName(random.text(upTo: 10))) { return user }
        }
    }

    @Test(
        "A device receives any text unchanged, within a payload that contains nothing else",
        arguments: BackendFlavor.allCases)
    func anyText(flavor: BackendFlavor) async throws {
        var random = SplitMix(seed: 50)
        var delivered = 0
        for number in 0..<TestRun.count(full: 5000, otherwise: 500) {
            let hub = NotificationHub()
            let (sender, recipient) = (Self.user(&random), Self.user(&random))
            let pns = Self.handles.keys.sorted().randomElement(using: &random)!
            let handle = try #require(Self.handles[pns])
            let registered = await (try gateway(flavor, hub, recipient)).serve(
                call(
                    "PUT /api/register/1-2-3",
                    Array(#"{"Platform":"\#(pns)","Handle":"\#(handle)","Tags":["username:\#(recipient)"]}"#.utf8)))
            #expect(registered.status == (pns == "wns" ? 202 : 200))
            // The registration has exactly one tag of the owner, although the request contains it as well.
            #expect(hub.registrations().map(\.tags) == [["username:\(recipient)"]])

            var text = random.text(upTo: 50)
            // Every tenth text is close to the maximum payload size.
            if number.isMultiple(of: 10), !text.isEmpty {
                let frame = try #require(PayloadTemplate.payload(pns: Self.word(pns, flavor), user: "", message: ""))
                let room = (pns == "wns" ? 5120 : 4096) - frame.utf8.count - sender.text.utf8.count
                let wanted = room + Int.random(in: -1...1, using: &random)
                text = String(repeating: text, count: wanted / Self.escaped(text, pns).utf8.count)
                text += String(repeating: "x", count: max(0, wanted - Self.escaped(text, pns).utf8.count))
            }
            let body = try JSONSerialization.data(withJSONObject: text, options: .fragmentsAllowed)
            // The recipient is named as a person types it, or as the gateway shows it.
            let spelling =
                number.isMultiple(of: 2)
                ? try #require(Self.names.spellings(of: recipient).first).text : recipient.text
            let answer = await (try gateway(flavor, hub, sender)).serve(
                call("POST /api/notifications?pns=\(pns)&to_tag=\(Self.percentEncoded(spelling))", Array(body)))
            let payload = try #require(
                PayloadTemplate.payload(
                    pns: Self.word(pns, flavor), user: sender.text, message: Self.escaped(text, pns)))
            let inbox = hub.inbox(ofHandle: handle).map(\.payload)
            if pns == "wns", text.unicodeScalars.contains(where: Self.isForeignToXML) {
                #expect(answer.code == .malformedMessage && inbox.isEmpty)
            } else if payload.utf8.count > (pns == "wns" ? 5120 : 4096) {
                #expect(answer.code == .payloadTooLarge && inbox.isEmpty)
            } else {
                delivered += 1
                #expect(answer.status == 200 && inbox == [payload], "\(answer.text)")
                let read = DevicePayload.text(in: inbox.first ?? "")
                #expect(
                    read.map(Self.scalars) == Self.scalars("From \(sender): \(text)"),
                    "\(text.unicodeScalars.map(\.value))")
            }
        }
        #expect(delivered > 300)
    }

    /// Returns the scalars without byte order marks, because Foundation's JSON parser drops those within a text.
    private static func scalars(_ text: String) -> [UInt32] {
        text.unicodeScalars.map(\.value).filter { $0 != 0xFEFF }
    }

    private static func word(_ pns: String, _ flavor: BackendFlavor) -> String {
        pns != "gcm" ? pns : flavor == .classic ? "gcm" : flavor == .core ? "fcm" : "fcmv1"
    }

    /// Escapes the text as the payload requires it. This implementation is independent of the gateway's.
    private static func escaped(_ text: String, _ pns: String) -> String {
        text.unicodeScalars.map { scalar in
            if pns == "wns" {
                return ["&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;", "'": "&apos;", "\r": "&#13;"][scalar]
                    ?? String(scalar)
            }
            let short: [Unicode.Scalar: String] = [
                "\"": "\\\"", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\u{8}": "\\b", "\u{C}": "\\f",
            ]
            if let known = short[scalar] { return known }
            return scalar.value < 0x20 || scalar.value == 0x7F
                ? String(format: "\\u%04x", scalar.value) : String(scalar)
        }.joined()
    }

    private static func isForeignToXML(_ scalar: Unicode.Scalar) -> Bool {
        (scalar.value < 0x20 && ![9, 10, 13].contains(scalar.value)) || [0xFFFE, 0xFFFF].contains(scalar.value)
    }

    private static func percentEncoded(_ text: String) -> String {
        text.utf8.map { String(format: "%%%02X", $0) }.joined()
    }
}
