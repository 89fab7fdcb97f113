internal import GatewayCore
internal import NIOCore

/// The body of a registration as a client wrote it: `Platform`, `Handle`, `Tags`, their names in any case.
struct RegistrationBody {
    let platform: String
    let handle: String
    let tags: [String]

    /// Strict JSON; unknown members are dropped, duplicates refused; `Tags` absent or null is none.
    static func read(_ body: ByteBuffer) throws(Refusal) -> RegistrationBody {
        let value: JSONValue
        do throws(JSONParser.Fault) {
            value = try JSONParser().parse(BodyText.utf8(body).span)
        } catch {
            throw Refusal(.malformedRequest, "the body is not strict JSON: \(error)")
        }
        guard case .object = value, let platform = value.member(anyCase: "Platform")?.string,
            let handle = value.member(anyCase: "Handle")?.string
        else { throw Refusal(.malformedRequest, "Platform or Handle is missing or is no text") }
        switch value.member(anyCase: "Tags") {
        case nil, .null:
            return RegistrationBody(platform: platform, handle: handle, tags: [])
        case .array(let elements):
            let tags = elements.compactMap(\.string)
            guard tags.count == elements.count else { throw Refusal(.malformedRequest, "a tag is no text") }
            return RegistrationBody(platform: platform, handle: handle, tags: tags)
        default:
            throw Refusal(.malformedRequest, "Tags is no list")
        }
    }
}
