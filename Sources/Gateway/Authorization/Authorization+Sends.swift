internal import GatewayCore
internal import GatewaySupport

extension Authorization {
    /// Authorizes a send to one user: the policy's rules decide.
    func permit(
        _ send: RequestedSend, at position: Position?, _ caller: Identity, _ facts: inout CallFacts
    ) throws(Rejection) -> PermittedOperation {
        if let time = facts.scheduled { try DeliveryTime.check(time, now: clocks.wall()) }
        var send = send
        send.isSecure = try isSecure(requested: send.isSecure, caller, &facts)
        let rule = try rule(sendRules.rule(for: caller, to: send.recipient, at: position))
        facts.establish { facts in
            facts.rule = rule.name
            facts.fence = rule.fence
        }
        return .send(send)
    }

    /// Authorizes a send to an audience that the configuration names.
    func permit(
        _ send: RequestedAudienceSend, at position: Position?, _ caller: Identity, _ facts: inout CallFacts
    ) throws(Rejection) -> PermittedOperation {
        if let time = facts.scheduled { try DeliveryTime.check(time, now: clocks.wall()) }
        guard let members = policy.audiences[send.audience] else {
            throw Rejection(.sendNotAllowed, "there is no such audience")
        }
        var send = send
        send.isSecure = try isSecure(requested: send.isSecure, caller, &facts)
        let rule = try rule(sendRules.rule(for: caller, toAudience: send.audience, at: position))
        facts.establish { facts in
            facts.rule = rule.name
            facts.fence = rule.fence
        }
        return .sendToAudience(send, members: members)
    }

    /// Returns the matching rule. Without one, throws `send-not-allowed` if the policy is enforced, and otherwise
    /// returns `Policy.wouldReject`.
    private func rule(_ matching: SendRules.Match?) throws(Rejection) -> SendRules.Match {
        if let matching { return matching }
        guard !policy.isEnforced else { throw Rejection(.sendNotAllowed, "no rule allows the send") }
        return SendRules.Match(name: Policy.wouldReject, fence: nil)
    }
}
