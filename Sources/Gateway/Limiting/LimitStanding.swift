public import GatewayCore
internal import Synchronization

/// How a limit stands for a call: what of it is left, and how long until there is enough.
public struct LimitStanding: Sendable, Hashable {
    /// The limit's name.
    public let limit: String
    /// For which user it counts; nil where it does not count by user or sender.
    public let user: UserName?
    /// For which recipient it counts; nil where it does not count by recipient.
    public let recipient: UserName?
    /// For which service it counts; nil where it does not count by service.
    public let service: PushService?
    /// How many calls would be admitted now.
    public let left: Int
    /// How many at once it ever admits.
    public let burst: Int
    /// How many of them this call is: more than one for the sends to an audience.
    public let cost: Int
    /// For how many seconds from now the call would be refused; 0 where it would not.
    public let seconds: Int
}

extension Limiter {
    /// How the limits stand that count a call. Nobody is charged.
    func standings(of user: UserName, sending send: RequestedSend?) -> [LimitStanding] {
        standings(charges(user, send))
    }

    /// How the limits stand that count a send to an audience: those that count it once, then each member's.
    func standings(
        of user: UserName, sending send: RequestedAudienceSend, to members: [UserName]
    ) -> [LimitStanding] {
        let (common, each) = charges(user, sending: send, to: members)
        return standings(common + each.flatMap(\.self))
    }

    private func standings(_ charges: [LimitTable.Charge]) -> [LimitStanding] {
        let now = clocks.monotonic().nanoseconds
        let arrivals = table.withLock { table in charges.map { table.arrival(of: $0.key, now: now) } }
        return zip(charges, arrivals).compactMap { charge, arrival in
            guard case .named(let key) = charge.key else { return nil }
            let rule = rules[key.limit]
            let wait = charge.rate.wait(arrival: arrival, now: now, cost: charge.cost)
            return LimitStanding(
                limit: rule.limit.name, user: key.caller, recipient: key.recipient, service: key.service,
                left: charge.rate.left(arrival: arrival, now: now), burst: rule.limit.burst, cost: charge.cost,
                seconds: Int(wait / 1_000_000_000) + (wait % 1_000_000_000 == 0 ? 0 : 1))
        }
    }
}

extension CellRate {
    /// How many calls at once would be admitted now.
    func left(arrival: Int64?, now: Int64) -> Int {
        let ahead = max(0, (arrival ?? now) - now)
        return ahead > tolerance ? 0 : Int((tolerance - ahead) / interval) + 1
    }
}
