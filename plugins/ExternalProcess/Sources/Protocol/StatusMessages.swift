internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// A query of the status of an account, in version 2 of the protocol.
struct StatusRequest: Sendable {
    /// The id that the report must repeat.
    let id = RequestID.random()
    private let user: String

    /// Creates a query; returns nil for a name that no login can have had.
    init?(_ login: LoginName) {
        guard (1...Request.maximumTextLength).contains(login.text.utf8.count) else { return nil }
        user = login.text
    }

    /// Returns the query's frame, with the remaining time until the deadline.
    func frame(timeLeft: TimeAmount) -> ByteBuffer {
        var json = Array(#"{"type":"status","id":"\#(id)","user":"#.utf8)
        JSONWriter.write(string: user, to: &json)
        json += #","timeout-ms":\#(max(1, timeLeft.nanoseconds / 1_000_000))}"#.utf8
        return Frame.encode(json)
    }
}

extension AccountStatus {
    /// Parses the report on the query with this id.
    ///
    /// Each status has a word of its own and none is a default, because some of them delete devices.
    init(_ frame: ByteBuffer, on id: String) throws(ProtocolError) {
        let object = try Frame.decodeObject(frame)
        guard object["type"]?.string == "status", let answered = object["id"]?.string else { throw .malformedStatus }
        guard answered == id else { throw .wrongRequestID }
        switch object["status"]?.string {
        case "valid":
            guard let groups = Set<GroupName>(ofMember: object["groups"]) else { throw .malformedStatus }
            self = .valid(groups: groups)
        case "absent": self = .ended(.wrong)
        case "expired": self = .ended(.expired)
        case "disabled": self = .ended(.disabled)
        case "unavailable": self = .unknown(OutageReason(ofMember: object["reason"]))
        default: throw .malformedStatus
        }
    }
}
