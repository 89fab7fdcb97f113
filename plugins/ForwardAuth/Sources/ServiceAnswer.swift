internal import GatewayCore
internal import NIOHTTP1

/// What the head of the service's answer means. The body means nothing.
enum ServiceAnswer: Sendable, Hashable {
    /// 2xx with one user in the user's field. The name is as the service writes it; groups that are no group names are
    /// left out.
    case accepted(user: String, groups: Set<GroupName>)
    /// 401 or 403.
    case rejected
    /// Anything else: a redirect to a login page, an error, a 2xx that names nobody.
    case none(String)

    /// The most bytes of header fields. The client has no setting for what its decoder takes: 2 MiB and 256 fields at the most, of
    /// which nothing is kept.
    static let longestHead = 16_384
    /// The most bytes of a body, which are read and forgotten so that the connection can be used again.
    static let longestBody = 65_536

    init(_ head: HTTPResponseHead, userHeader: String, groupsHeader: String) {
        // Each field with its colon, its space and its line's end.
        let length = head.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
        guard length <= Self.longestHead else {
            self = .none("its header is longer than \(Self.longestHead) bytes")
            return
        }
        switch head.status.code {
        case 200..<300:
            let users = head.headers[userHeader]
            guard users.count == 1, let user = users.first, !user.isEmpty else {
                self = .none("it names \(users.count) users in \(userHeader), and must name one")
                return
            }
            let names = head.headers[canonicalForm: groupsHeader].compactMap { GroupName(String($0)) }
            self = .accepted(user: user, groups: Set(names))
        case 401, 403: self = .rejected
        default: self = .none("its status is \(head.status.code)")
        }
    }
}
