internal import GatewayCore
internal import GatewayStore
internal import GatewaySupport

/// `tokens list`: lists the sessions of all users or of one.
struct ListTokensOperation: ControlOperation {
    static let name = "tokens list"
    static let arguments: Set<String> = ["user"]

    let sessions: SessionRegister
    let names: NameRules

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let user = try arguments.user("user", by: names)
        for session in sessions.allSessions where user == nil || session.user == user {
            var members: [JSONValue.Member] = [
                .init("user", .string(session.user.text)), .init("session", .string(session.id.text)),
            ]
            if let device = session.device { members.append(.init("device", .string(device.text))) }
            members += [
                .init("authenticator", .string(session.authenticator.text)),
                .init("began", .string(session.began.description)),
                .init("renewed", .string(session.renewed.description)),
                .init("ends", .string(session.ends.description)),
            ]
            try await context.send(.object(members))
        }
    }
}
