internal import GatewayCore

/// A message made fit for the payload that the backend pastes it into, raw (contract: payloads).
///
/// The backend decodes one JSON string and pastes the result: what is sent is `JSON(escape(text))`, so that the paste is valid
/// and the text arrives whole. The same step closes the injection hole.
struct PayloadText {
    /// The text with what the payload's syntax cannot hold escaped.
    let escaped: [UInt8]

    init(_ text: String, for service: PushService) throws(Refusal) {
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

    /// How many bytes the payload gets that the backend builds: `From U: M` in a frame of so many bytes.
    func payloadLength(from sender: UserName, frame: Int) -> Int {
        frame + sender.text.utf8.count + escaped.count
    }

    /// Character data of XML 1.0 (sections 2.2 and 2.4). A carriage return would be read as a line feed, so it is a reference.
    private static func xml(_ text: String) throws(Refusal) -> [UInt8] {
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
                throw Refusal(
                    .malformedMessage, "a character that XML cannot carry",
                    hint: "The message holds a control character that Windows notifications cannot carry.")
            default: bytes += UTF8.encode(scalar).map(Array.init) ?? []
            }
        }
        return bytes
    }
}
