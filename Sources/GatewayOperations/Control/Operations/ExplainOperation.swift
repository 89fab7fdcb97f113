internal import Gateway
internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// `explain`: shows how the gateway would process a call of a user.
struct ExplainOperation: ControlOperation {
    static let name = "explain"
    static let arguments: Set<String> = ["user", "groups", "call", "body"]

    let dryRun: HotSwappable<DryRun>
    let names: NameRules

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        guard let text = try arguments.text("user"), let user = try arguments.user("user", by: names) else {
            throw .malformed("user is missing.")
        }
        let login = names.login(PresentedName(text))
        let account = await dryRun.value.lookUpAccount(of: user, login: login)
        let given = try Self.groups(in: arguments)
        let groups = given.isEmpty ? account.groups ?? [] : given
        guard let line = try arguments.text("call") else { throw .malformed("call is missing.") }
        let request = try Self.request(line, body: try arguments.text("body") ?? "", id: context.call)
        let explanation = await dryRun.value.explain(
            request, as: Identity(user: user, groups: groups, authenticator: "explain"),
            login: login)
        try await context.send(explanation.item(of: user, in: groups, account))
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

extension Explanation {
    /// Returns the explanation as one result.
    func item(of user: UserName, in groups: Set<GroupName>, _ account: AccountLookup) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("user", .string(user.text)),
            .init("groups", .array(groups.map(\.text).sorted().map(JSONValue.string))),
        ]
        if account.owner == nil {
            let (unknown, undecided) = (account.unknownTo, account.undecided)
            if !unknown.isEmpty { members.append(.init("unknown_to", .array(unknown.map { .string($0.text) }))) }
            if !undecided.isEmpty { members.append(.init("undecided", .array(undecided.map(\.item)))) }
        }
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
        return .object(members)
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
