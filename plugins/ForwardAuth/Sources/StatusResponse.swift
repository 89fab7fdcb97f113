internal import GatewayCore
internal import NIOHTTP1

/// The meaning of a response's head to a query of an account's status. The body is ignored.
enum StatusResponse: Sendable, Hashable {
    /// The service reports on the account.
    case status(AccountStatus)
    /// The response says nothing about the account, with the reason.
    case invalid(String)

    /// Evaluates the head.
    ///
    /// A proxy in front of the service, or another server at its address, responds with 200, 403 and 404 too. Such a
    /// response must not end accounts or keep them, so these three count only if the user field names the account. No
    /// server sends 410 for a path that it does not know.
    ///
    /// - Parameter isAccount: whether the name of the user field stands for the account.
    init(_ head: HTTPResponseHead, userHeader: String, groupsHeader: String, isAccount: (String) -> Bool) {
        guard ServiceResponse.isHeadAcceptable(head) else {
            self = .invalid(ServiceResponse.headTooLong)
            return
        }
        let users = ServiceResponse.users(in: head, userHeader)
        let isNamed = users.count == 1 && isAccount(users[0])
        switch head.status.code {
        case 200..<300 where isNamed:
            self = .status(.valid(groups: ServiceResponse.groups(in: head, groupsHeader)))
        case 403 where isNamed: self = .status(.ended(.disabled))
        case 404 where isNamed: self = .status(.ended(.wrong))
        case 410 where isNamed || users.isEmpty: self = .status(.ended(.expired))
        case 200..<300, 403, 404, 410:
            self = .invalid("the response status is \(head.status.code), and \(userHeader) does not name the account")
        default: self = .invalid("the response status is \(head.status.code)")
        }
    }
}
