internal import GatewayCore
internal import NIOHTTP1

/// The meaning of a response's head. The body is ignored.
enum ServiceResponse: Sendable, Hashable {
    /// Status 2xx with exactly one user. The name is as the service wrote it; invalid group names are dropped.
    case accepted(user: String, groups: Set<GroupName>)
    /// Status 401 or 403, or another one that the configuration names.
    case rejected
    /// Any other response, with the reason: a redirect, an error, a 2xx without a user.
    case invalid(String)

    /// The maximum size of the header fields in bytes. The client's decoder has no setting for it: it accepts at
    /// most 2 MiB and 256 fields, none of which is kept.
    static let maximumHeadSize = 16_384
    /// The maximum size of a body in bytes. The body is read and discarded, so that the connection can be reused.
    static let maximumBodySize = 65_536

    init(
        _ head: HTTPResponseHead, userHeader: String, groupsHeader: String, rejectedStatuses: Set<UInt> = []
    ) {
        guard Self.isHeadAcceptable(head) else {
            self = .invalid(Self.headTooLong)
            return
        }
        switch head.status.code {
        case 200..<300:
            let users = Self.users(in: head, userHeader)
            guard users.count == 1, let user = users.first, !user.isEmpty else {
                self = .invalid("the response has not exactly one user in \(userHeader)")
                return
            }
            self = .accepted(user: user, groups: Self.groups(in: head, groupsHeader))
        case 401, 403: self = .rejected
        case let status where rejectedStatuses.contains(status): self = .rejected
        default: self = .invalid("the response status is \(head.status.code)")
        }
    }

    /// The reason for a head that is too long.
    static let headTooLong = "the response header exceeds \(maximumHeadSize) bytes"

    /// Returns whether the fields are within the limit.
    static func isHeadAcceptable(_ head: HTTPResponseHead) -> Bool {
        // Each field with its colon, space and line end.
        head.headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 } <= maximumHeadSize
    }

    /// Returns the values of the field that names the user. White space around a value is not a part of it (RFC 9110,
    /// section 5.5).
    static func users(in head: HTTPResponseHead, _ userHeader: String) -> [String] {
        head.headers[userHeader].map { value in
            String(
                decoding: value.utf8.trimmingPrefix(while: isSpace).reversed().trimmingPrefix(while: isSpace)
                    .reversed(),
                as: UTF8.self)
        }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

    /// Returns the groups of the field. Texts that are no group names are dropped.
    static func groups(in head: HTTPResponseHead, _ groupsHeader: String) -> Set<GroupName> {
        Set(head.headers[canonicalForm: groupsHeader].compactMap { GroupName(String($0)) })
    }
}
