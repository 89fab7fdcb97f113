internal import Gateway
internal import GatewayCore
internal import GatewaySupport

/// `policy show`: shows the rules for sends and tags, and how often each rule for sends has matched since the start.
struct ShowPolicyOperation: ControlOperation {
    static let name = "policy show"

    /// Returns the policy of the current configuration.
    let policy: @Sendable () -> Policy
    let metrics: CallMetrics

    func run(_ arguments: ControlArguments, in context: ControlContext) async throws(ControlError) {
        let policy = policy()
        let matches = metrics.matches(of: policy.send.map(\.text))
        let rules = zip(policy.send, matches).enumerated().map { position, entry in
            var members: [JSONValue.Member] = [
                .init("rule", .string("send[\(position)]")), .init("from", .string(entry.0.from.text)),
                .init("to", .string(entry.0.to.text)),
            ]
            if let fence = entry.0.within { members.append(.init("within", .string(fence.text))) }
            return JSONValue.object(members + [.init("matched", .number(String(entry.1.value)))])
        }
        let tags = policy.tags.map { rule in
            JSONValue.object([
                .init("user", .string(rule.user.text)), .init("allow", .array(rule.allow.map { .string($0.text) })),
            ])
        }
        try await context.send(
            .object([
                .init("enforced", .bool(policy.isEnforced)), .init("send", .array(rules)), .init("tags", .array(tags)),
            ]))
    }
}
