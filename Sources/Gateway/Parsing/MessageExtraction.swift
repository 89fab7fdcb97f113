internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// The rule for reading the text of a message from a body, which some clients build without escaping (docs/contract.md:
/// client rule 5).
public enum MessageExtraction: String, Sendable, Hashable, CaseIterable {
    /// Decodes a JSON string. If the body is not valid JSON, reads what is inside the outer quotation marks literally.
    case auto
    /// Removes the outer pair of quotation marks and reads everything inside literally. For the original clients of the
    /// tutorial, which never escape.
    case literal

    /// Returns the text of the message. Throws if the body is not in the form that the rule requires.
    func text(of body: ByteBuffer) throws(Rejection) -> String {
        // The usual body is read without a copy.
        if self == .auto, let text = try Self.jsonText(body.readableBytesUInt8Span) { return text }
        let bytes = Self.trimmed(BodyText.utf8(body))
        if self == .auto, let text = try Self.jsonText(bytes.span) { return text }
        guard bytes.count >= 2, bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else {
            throw Rejection(
                .malformedMessage, "the body is not text in quotation marks",
                hint: "The body must be the message as a JSON string.")
        }
        // `utf8(_:)` returns valid UTF-8, and removing ASCII bytes at the ends keeps it valid.
        return String(decoding: bytes[1..<(bytes.count - 1)], as: UTF8.self)
    }

    /// Returns the text of a strict JSON string; nil if the body is not JSON and therefore may be unescaped text.
    private static func jsonText(_ bytes: borrowing Span<UInt8>) throws(Rejection) -> String? {
        let value: JSONValue
        do throws(JSONParser.Fault) {
            value = try JSONParser().parse(bytes)
        } catch .loneSurrogate {
            throw Rejection(.malformedMessage, "the message contains a lone surrogate")
        } catch {
            return nil
        }
        guard case .string(let text) = value else {
            throw Rejection(.malformedMessage, "the body is JSON, but not a string")
        }
        return text
    }

    private static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
        let head = bytes.prefix(while: isBlank).count
        let tail = bytes.dropFirst(head).reversed().prefix(while: isBlank).count
        return head + tail == 0 ? bytes : Array(bytes[head..<(bytes.count - tail)])
    }
}
