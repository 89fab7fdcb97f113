internal import Gateway
internal import GatewayCore
internal import GatewaySupport

/// `bans list`: lists the users and addresses whose passwords are rejected at present with the remaining time, the
/// longest first.
struct ListBansOperation: ControlOperation {
    static let name = "bans list"

    let throttle: LoginThrottle

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        for ban in throttle.list() {
            var members: [JSONValue.Member] = []
            if let user = ban.user { members.append(.init("user", .string(user.text))) }
            if let address = ban.address { members.append(.init("address", .string(address.operatorText))) }
            members.append(.init("seconds", .number(String(ban.seconds))))
            try await context.send(.object(members))
        }
    }
}
