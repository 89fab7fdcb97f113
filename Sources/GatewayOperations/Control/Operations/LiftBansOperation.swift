internal import Gateway
internal import GatewayCore
internal import GatewaySupport

/// `bans lift`: removes the failed logins of a user, of an address, or all of them. Takes effect at once.
struct LiftBansOperation: ControlOperation {
    static let name = "bans lift"
    static let arguments: Set<String> = ["user", "address", "all"]

    let throttle: LoginThrottle
    let names: NameRules

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let user = try arguments.user("user", by: names)
        let address = try arguments.text("address")
        let isAll = try arguments.flag("all")
        let lifted: Int
        switch (user, address, isAll) {
        case (let user?, nil, false):
            try await context.record(.operatorLiftBan, user: user)
            lifted = throttle.lift(user: user)
        case (nil, let text?, false):
            guard let address = Peer.Address(operatorText: text) else {
                throw .refused("address is not an IP address.")
            }
            let peer = Peer(address: address, text: address.operatorText)
            try await context.record(.operatorLiftBan, target: peer.text)
            lifted = throttle.lift(address: peer)
        case (nil, nil, true):
            try await context.record(.operatorLiftBan, target: "all")
            lifted = throttle.liftAll()
        default:
            throw .malformed("Exactly one of user, address and all must be given.")
        }
        try await context.send(.object([.init("lifted", .number(String(lifted)))]))
    }
}
