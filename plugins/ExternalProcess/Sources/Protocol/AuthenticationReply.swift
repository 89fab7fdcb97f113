internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// The process's response to a request.
enum AuthenticationReply: Sendable, Hashable {
    /// The credential is valid. The name is as the process wrote it; invalid group names are dropped.
    case accepted(user: String, groups: Set<GroupName>)
    /// The credential belongs to the process and is invalid.
    case rejected(InvalidCredentialReason)
    /// The credential does not belong to the process.
    case notMine
    /// The process cannot decide, or could not be queried.
    case unavailable(OutageReason)

    /// Parses the verdict on the request with this id.
    init(_ frame: ByteBuffer, on id: String) throws(ProtocolError) {
        let object = try Frame.object(frame)
        guard object["type"]?.string == "verdict", let answered = object["id"]?.string else { throw .malformedVerdict }
        guard answered == id else { throw .anotherRequest }
        switch object["verdict"]?.string {
        case "accepted":
            guard let user = object["user"]?.string, !user.isEmpty else { throw .malformedVerdict }
            self = .accepted(user: user, groups: try Self.groups(object["groups"]))
        case "rejected":
            // An unknown or missing reason still rejects.
            self = .rejected(object["reason"]?.string.flatMap(InvalidCredentialReason.init(rawValue:)) ?? .wrong)
        case "not-mine":
            self = .notMine
        case "unavailable":
            self = .unavailable(object["reason"]?.string.flatMap(OutageReason.init(rawValue:)) ?? .failed)
        default:
            throw .malformedVerdict
        }
    }

    private static func groups(_ value: JSONValue?) throws(ProtocolError) -> Set<GroupName> {
        switch value {
        case nil, .null: return []
        case .array(let values):
            let words = values.compactMap(\.string)
            guard words.count == values.count else { throw .malformedVerdict }
            return Set(words.compactMap(GroupName.init))
        case .bool, .number, .string, .object: throw .malformedVerdict
        }
    }
}
