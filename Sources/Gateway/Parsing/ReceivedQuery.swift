internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// The query of `GET /auth/notifications-received`.
enum ReceivedQuery {
    /// The maximum and default number of results.
    static let largestLimit = 100

    static func call(_ query: ByteBuffer?) throws(Rejection) -> LocalCall {
        let query = try QueryParameters(query, allowed: ["since", "limit"])
        var since: WallTime?
        if let text = query.value("since") {
            guard let time = WallTime(rfc3339: text) else {
                throw Rejection(
                    .malformedRequest, "since is not a time",
                    hint: "since must be a time such as 2026-11-21T07:00:00Z.")
            }
            since = time
        }
        var limit = largestLimit
        if let text = query.value("limit") {
            guard text.utf8.count <= 3, text.utf8.allSatisfy(\.isASCIIDigit), let number = Int(text),
                (1...largestLimit).contains(number)
            else {
                throw Rejection(
                    .malformedRequest, "limit is out of range", hint: "limit must be from 1 to \(largestLimit).")
            }
            limit = number
        }
        return .listReceived(since: since, limit: limit)
    }
}
