internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

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
