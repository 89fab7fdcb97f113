internal import GatewayCore
internal import GatewaySupport

/// Escapes text for the syntax of a push service's payload, so that it arrives unchanged and cannot change the payload.
enum EscapedText {
    /// Returns the text as the inside of a JSON string, or as character data of XML for Windows.
    ///
    /// Throws if XML cannot represent a character.
    static func bytes(of text: String, for service: PushService) throws(Rejection) -> [UInt8] {
        switch service {
        case .apns, .fcm: json(text)
        case .wns, .mpns: try xml(text)
        }
    }

    private static func json(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 8)
        JSONWriter.escape(text, to: &bytes)
        return bytes
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

extension PushService {
    /// Throws if a payload of this number of bytes is longer than the service accepts.
    func checkPayload(length: Int) throws(Rejection) {
        guard length > payloadLimit else { return }
        throw Rejection(
            .payloadTooLarge, "the payload would have \(length) bytes",
            hint: "The message is longer than the push service accepts.")
    }
}
