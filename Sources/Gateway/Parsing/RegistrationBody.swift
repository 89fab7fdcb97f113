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
