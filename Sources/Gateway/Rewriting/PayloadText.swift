internal import GatewayCore
internal import GatewaySupport

/// A message, escaped in advance for the payload into which the backend pastes it without escaping (docs/contract.md:
/// payloads).
///
/// The backend decodes one JSON string and pastes the result. The gateway sends `JSON(escape(text))`, so that the
/// payload is valid and the text arrives unchanged. The escaping also prevents injection into the payload.
struct PayloadText {
    /// The text, escaped for the syntax of the payload.
    let escaped: [UInt8]

    init(_ text: String, for service: PushService) throws(Rejection) {
        switch service {
        case .apns, .fcm:
            var bytes: [UInt8] = []
            bytes.reserveCapacity(text.utf8.count + 8)
            JSONWriter.escape(text, to: &bytes)
            escaped = bytes
        case .wns, .mpns:
            escaped = try Self.xml(text)
        }
    }

    /// Returns the length in bytes of the payload that the backend builds.
    ///
    /// - Parameter frameLength: The bytes that the backend adds around the sender's name and the message, including
    ///   `From ` and `: `.
    func payloadLength(from sender: UserName, frameLength: Int) -> Int {
        frameLength + sender.text.utf8.count + escaped.count
    }

    /// Escapes text as character data of XML 1.0 (sections 2.2 and 2.4). A carriage return becomes a character
    /// reference, because a parser would otherwise read it as a line feed.
    private static func xml(_ text: String) throws(Rejection) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 16)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": bytes += "&amp;".utf8
            case "<": bytes += "&lt;".utf8
            case ">": bytes += "&gt;".utf8
            case "\"": bytes += "&quot;".utf8
            case "'": bytes += "&apos;".utf8
            case "\r": bytes += "&#13;".utf8
            case "\t", "\n": bytes.append(UInt8(scalar.value))
            case "\u{0}"..."\u{1F}", "\u{FFFE}", "\u{FFFF}":
                throw Rejection(
                    .malformedMessage, "a character that XML cannot represent",
                    hint: "The message contains a control character that Windows notifications cannot represent.")
            default: bytes += UTF8.encode(scalar).map(Array.init) ?? []
            }
        }
        return bytes
    }
}
