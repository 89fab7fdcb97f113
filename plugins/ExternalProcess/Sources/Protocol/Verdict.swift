internal import GatewayCore
internal import NIOCore

/// What the process says of a request.
enum Verdict: Sendable, Hashable {
    /// Good. The name is as the process writes it; groups that are no group names are left out.
    case accepted(user: String, groups: Set<GroupName>)
    /// The process's, and bad.
    case rejected(RejectionReason)
    /// Not the process's.
    case notMine
    /// The process cannot tell, or nobody could ask it.
    case unavailable(OutageReason)

    /// The verdict on the request of this id.
    init(_ frame: ByteBuffer, on id: String) throws(ProtocolFault) {
        let object = try Frame.object(frame)
        guard object["type"]?.string == "verdict", let answered = object["id"]?.string else { throw .malformedVerdict }
        guard answered == id else { throw .anotherRequest }
        switch object["verdict"]?.string {
        case "accepted":
            guard let user = object["user"]?.string, !user.isEmpty else { throw .malformedVerdict }
            self = .accepted(user: user, groups: try Self.groups(object["groups"]))
        case "rejected":
            // A reason that is not known here rejects all the same.
            self = .rejected(object["reason"]?.string.flatMap(RejectionReason.init(rawValue:)) ?? .wrong)
        case "not-mine":
            self = .notMine
        case "unavailable":
            self = .unavailable(object["reason"]?.string.flatMap(OutageReason.init(rawValue:)) ?? .failed)
        default:
            throw .malformedVerdict
        }
    }

    private static func groups(_ value: JSONValue?) throws(ProtocolFault) -> Set<GroupName> {
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
