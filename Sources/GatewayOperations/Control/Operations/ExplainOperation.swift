internal import Gateway
internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// `explain`: shows how the gateway would process a call of a user, or of the holder of a token.
struct ExplainOperation: ControlOperation {
    static let name = "explain"
    static let arguments: Set<String> = ["user", "groups", "token", "call", "body"]

    let dryRun: HotSwappable<DryRun>
    let names: NameRules

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        guard let line = try arguments.text("call") else { throw .malformed("call is missing.") }
        let request = try Self.request(line, body: try arguments.text("body") ?? "", id: context.call)
        let groups = try Self.groups(in: arguments)
        switch (try arguments.text("user"), try arguments.text("token")) {
        case (let name?, nil):
            guard let user = try arguments.user("user", by: names) else { throw .malformed("user is missing.") }
            // The name as typed may have a prefix that the authenticator needs, or be the canonical name.
            let typed = names.login(PresentedName(name))
            let login = names.canonical(typed) == user ? typed : names.login(of: user)
            try await explain(request, ofUser: user, login: login, groups, in: context)
        case (nil, let token?):
            guard groups.isEmpty else { throw .malformed("A token has its own groups.") }
            try await explain(request, ofHolderOf: Secret(token.utf8), in: context)
        default: throw .malformed("Give a user or a token.")
        }
    }

    private func explain(
        _ request: ReceivedRequest, ofUser user: UserName, login: LoginName, _ given: Set<GroupName>,
        in context: ControlContext
    ) async throws(ControlError) {
        let account = await dryRun.value.lookUpAccount(of: user, login: login)
        let groups = given.isEmpty ? account.groups ?? [] : given
        let caller = Identity(user: user, groups: groups, authenticator: "explain")
        let explanation = await dryRun.value.explain(request, as: caller, login: login)
        try await context.send(.object(caller.members + account.members + explanation.members))
    }

    private func explain(
        _ request: ReceivedRequest, ofHolderOf token: Secret, in context: ControlContext
    ) async throws(ControlError) {
        let lookup = await dryRun.value.lookUpToken(token, from: request.peer)
        let rejection: Rejection
        switch lookup.inspection.result {
        case .valid(let caller):
            let login = caller.token?.provider?.login ?? names.login(of: caller.user)
            let explanation = await dryRun.value.explain(request, as: caller, login: login)
            try await context.send(.object(caller.members + [lookup.member] + explanation.members))
            return
        case .invalid(_, let detail): rejection = Rejection(.credentialsRejected, "the token is not valid: \(detail)")
        case .undecided(_, let detail): rejection = Rejection(.authenticatorUnavailable, "the token: \(detail)")
        }
        try await context.send(.object([lookup.member] + Explanation(rejection: rejection).members))
    }

    /// Returns the groups that the operator gives.
    private static func groups(in arguments: ControlArguments) throws(ControlError) -> Set<GroupName> {
        var groups: Set<GroupName> = []
        for text in try arguments.texts("groups") {
            guard let group = GroupName(text) else { throw .refused("groups contains an invalid group name.") }
            groups.insert(group)
        }
        return groups
    }

    /// Returns the request that a listener would parse from the line. Throws if a listener would reject the line.
    private static func request(
        _ line: String, body: String, id: CallID
    ) throws(ControlError) -> ReceivedRequest {
        let parts = line.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 2, let method = HTTPMethod(rawValue: String(parts[0])) else {
            throw .refused("call must be a method and a target, such as: POST /api/notifications?pns=apns&to_tag=bob")
        }
        let target = parts[1].utf8
        guard target.first == UInt8(ascii: "/"), target.allSatisfy({ (0x21...0x7E).contains($0) }),
            !target.contains(UInt8(ascii: "#"))
        else { throw .refused("The target must be / followed by visible ASCII characters without #.") }
        let mark = target.firstIndex(of: UInt8(ascii: "?"))
        return ReceivedRequest(
            id: id, method: method, path: ByteBuffer(bytes: target[..<(mark ?? target.endIndex)]),
            query: mark.map { ByteBuffer(bytes: target[target.index(after: $0)...]) },
            body: ByteBuffer(string: body), peer: .control, allowsCredentials: true)
    }
}

extension Identity {
    /// The user and the groups as members of a result.
    fileprivate var members: [JSONValue.Member] {
        [
            .init("user", .string(user.text)),
            .init("groups", .array(groups.map(\.text).sorted().map(JSONValue.string))),
        ]
    }
}

extension AccountLookup {
    /// The authenticators without the account as members of a result; none if an authenticator has it.
    fileprivate var members: [JSONValue.Member] {
        guard owner == nil else { return [] }
        var members: [JSONValue.Member] = []
        if !unknownTo.isEmpty { members.append(.init("unknown_to", .array(unknownTo.map { .string($0.text) }))) }
        if !undecided.isEmpty { members.append(.init("undecided", .array(undecided.map(\.item)))) }
        return members
    }
}

extension TokenLookup {
    /// The authenticator and the claims as a member of a result. The signature is left out, so nobody can use the
    /// result as a token.
    fileprivate var member: JSONValue.Member {
        var members: [JSONValue.Member] = []
        if let authenticator { members.append(.init("authenticator", .string(authenticator.text))) }
        if let claims = inspection.claims { members.append(.init("claims", claims)) }
        return .init("token", .object(members))
    }
}

extension Explanation {
    /// The explanation as members of a result.
    fileprivate var members: [JSONValue.Member] {
        var members: [JSONValue.Member] = []
        if let action { members.append(.init("action", .string(action.rawValue))) }
        if let call { members.append(.init("call", .object(call.parameters))) }
        if let rule { members.append(.init("rule", .string(rule))) }
        if let fence { members.append(.init("fence", .string(fence.text))) }
        if isSecure { members.append(.init("secure", .bool(true))) }
        if let registration { members.append(.init("registration", .string(registration.text))) }
        members.append(.init("limits", .array(limits.map(\.item))))
        switch outcome {
        case .rejected(let rejection, let status):
            members.append(.init("end", .string("refused")))
            members.append(.init("code", .string(rejection.code.rawValue)))
            members.append(.init("status", .number(String(status))))
            members.append(.init("detail", .string(rejection.detail)))
        case .servedLocally:
            members.append(.init("end", .string("answered-here")))
        case .forwarded(let requests, let skipped):
            members.append(.init("end", .string("forwarded")))
            members.append(.init("requests", .array(requests.map(\.item))))
            members.append(.init("skipped", .array(skipped.map(\.item))))
        }
        return members
    }
}

extension AccountLookup.Undecided {
    fileprivate var item: JSONValue {
        .object([.init("authenticator", .string(authenticator.text)), .init("reason", .string(reason.word))])
    }
}

extension LimitStatus {
    /// The status of the limit as one result.
    var item: JSONValue {
        var members: [JSONValue.Member] = [.init("limit", .string(limit))]
        if let user { members.append(.init("user", .string(user.text))) }
        if let group { members.append(.init("group", .string(group.text))) }
        if let recipient { members.append(.init("recipient", .string(recipient.text))) }
        if let address { members.append(.init("address", .string(address.operatorText))) }
        if let service { members.append(.init("pns", .string(service.rawValue))) }
        members += [
            .init("left", .number(String(remaining))), .init("burst", .number(String(burst))),
            .init("cost", .number(String(cost))), .init("seconds", .number(String(seconds))),
            .init("shadow", .bool(isShadow)),
        ]
        return .object(members)
    }
}

extension ExplainedRequest {
    fileprivate var item: JSONValue {
        .object([.init("when", .string(condition.rawValue)), .init("request", .string(text))])
    }
}

extension Explanation.Skipped {
    fileprivate var item: JSONValue {
        .object([.init("user", .string(user.text)), .init("limit", .string(limit))])
    }
}
