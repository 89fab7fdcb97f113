internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// The body of a registration: `Platform`, `Handle` and `Tags`, with names in any case.
struct RegistrationBody {
    let platform: String
    let handle: String
    let tags: [String]

    /// Parses strict JSON. Unknown members are ignored, duplicate names are rejected, and absent or null `Tags` are an
    /// empty list.
    static func read(_ body: ByteBuffer) throws(Rejection) -> RegistrationBody {
        let value: JSONValue
        do throws(JSONParser.Fault) {
            value = try JSONParser().parse(BodyText.utf8(body).span)
        } catch {
            throw Rejection(.malformedRequest, "the body is not strict JSON: \(error)")
        }
        guard case .object = value, let platform = value.member(anyCase: "Platform")?.string,
            let handle = value.member(anyCase: "Handle")?.string
        else { throw Rejection(.malformedRequest, "Platform or Handle is missing or not a string") }
        switch value.member(anyCase: "Tags") {
        case nil, .null:
            return RegistrationBody(platform: platform, handle: handle, tags: [])
        case .array(let elements):
            let tags = elements.compactMap(\.string)
            guard tags.count == elements.count else { throw Rejection(.malformedRequest, "a tag is not a string") }
            return RegistrationBody(platform: platform, handle: handle, tags: tags)
        default:
            throw Rejection(.malformedRequest, "Tags is not an array")
        }
    }
}

/// The optional body of a token request: `{"device":"…"}`.
enum TokenRequestBody {
    /// Returns the name of the device; nil if there is none. Unknown members are ignored.
    static func device(in body: ByteBuffer) throws(Rejection) -> DeviceLabel? {
        let value: JSONValue
        do throws(JSONParser.Fault) {
            value = try JSONParser().parse(BodyText.utf8(body).span)
        } catch {
            throw Rejection(.malformedRequest, "the body is not strict JSON: \(error)")
        }
        guard case .object = value else { throw Rejection(.malformedRequest, "the body is not a JSON object") }
        switch value.member(anyCase: "device") {
        case nil, .null: return nil
        case .string(let text):
            guard let label = DeviceLabel(text) else {
                throw Rejection(
                    .malformedRequest, "device is not a valid label",
                    hint: "device must be 1 to 64 bytes of text without control characters.")
            }
            return label
        default: throw Rejection(.malformedRequest, "device is not a string")
        }
    }
}

/// Conversion of a body to UTF-8. Bytes that are not valid UTF-8 are read as ISO-8859-1, which Android clients send
/// without declaring it. A byte order mark is removed.
enum BodyText {
    /// Returns the bytes of the body as UTF-8 without a byte order mark.
    static func utf8(_ body: ByteBuffer) -> [UInt8] {
        var bytes = Array(body.readableBytesView)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
        if (try? UTF8Span(validating: bytes.span)) != nil { return bytes }
        var text: [UInt8] = []
        for byte in bytes {
            // U+0080 to U+00FF have two bytes each in UTF-8.
            if byte < 0x80 { text.append(byte) } else { text += [0xC0 | byte >> 6, 0x80 | byte & 0x3F] }
        }
        return text
    }
}
