public import GatewayCore
internal import Synchronization

/// Counts calls against the limits, in memory, bounded.
///
/// Shared by all loops: one short critical section a call, a few table look-ups long, since a limit that each loop counted
/// for itself would be as many limits as there are loops. Several limits are asked at once: all are checked, then all are
/// charged, so that a refused call charges none.
public final class Limiter: Sendable {
    struct Rule {
        let limit: Limit
        let rate: CellRate
    }

    let rules: [Rule]
    private let loginRules: [Int]
    let clocks: Clocks
    let table: Mutex<LimitTable>

    /// A limiter for the limits. All keys of all limits together take at most `capacity` places.
    public init(_ limits: [Limit], clocks: Clocks, capacity: Int = 1_000_000) {
        rules = limits.map {
            Rule(limit: $0, rate: CellRate(count: $0.count, period: $0.period, burst: $0.burst))
        }
        loginRules = limits.indices.filter { limits[$0].per == [.address] }
        self.clocks = clocks
        let memory = rules.map(\.rate.memory).max() ?? 1
        table = Mutex(LimitTable(capacity: capacity, memory: memory, now: clocks.monotonic().nanoseconds))
    }

    /// Whether those who are asked about pay.
    enum Payment: Sendable, Hashable {
        /// They do: the call is carried out if they can.
        case charged
        /// They do not: somebody wants to know whether they could.
        case lookedAt
    }

    /// What a login was charged, to be given back if the credential was good.
    struct LoginTicket {
        fileprivate let charges: [LimitTable.Charge]
    }

    /// Charges the peer's address for a credential that is about to be judged.
    func admitLogin(from peer: Peer) throws(Refusal) -> LoginTicket {
        let charges = loginRules.map { index in
            LimitTable.Charge(key: .address(limit: index, peer.limitKey), rate: rules[index].rate)
        }
        try admit(charges)
        return LoginTicket(charges: charges)
    }

    /// Gives a login's charge back.
    func giveBack(_ ticket: LoginTicket) {
        if ticket.charges.isEmpty { return }
        table.withLock { $0.giveBack(ticket.charges) }
    }

    /// Charges an authorized call to its user, and a send to sender, recipient and pair.
    func admit(
        _ user: UserName, sending send: RequestedSend?, _ payment: Payment = .charged
    ) throws(Refusal) {
        try admit(charges(user, send), payment)
    }

    /// What a call is charged.
    func charges(_ user: UserName, _ send: RequestedSend?) -> [LimitTable.Charge] {
        var charges: [LimitTable.Charge] = []
        charges.reserveCapacity(rules.count)
        for (index, rule) in rules.enumerated() {
            if let key = Self.key(rule.limit, index, user, send) { charges.append(.init(key: key, rate: rule.rate)) }
        }
        return charges
    }

    /// Charges a call that was refused before it came to the limits, as far as limits count by user alone.
    func admit(refusedCallOf user: UserName, _ payment: Payment = .charged) throws(Refusal) {
        var charges: [LimitTable.Charge] = []
        for (index, rule) in rules.enumerated() where rule.limit.per == [.user] {
            if let key = Self.key(rule.limit, index, user, nil) { charges.append(.init(key: key, rate: rule.rate)) }
        }
        try admit(charges, payment)
    }

    private func admit(_ charges: [LimitTable.Charge], _ payment: Payment = .charged) throws(Refusal) {
        let now = clocks.monotonic().nanoseconds
        let spent = table.withLock { table in
            payment == .charged ? table.admit(charges, now: now) : table.look(charges, now: now)
        }
        if let spent { throw refusal(spent) }
    }

    func refusal(_ spent: LimitTable.Spent) -> Refusal {
        let name = rules[spent.key.limit].limit.name
        let seconds = Int(spent.wait / 1_000_000_000) + (spent.wait % 1_000_000_000 == 0 ? 0 : 1)
        return Refusal(
            .rateLimited, "limit \(name)", extra: .limit(name: name, retryAfterSeconds: max(1, seconds)))
    }

    /// The key under which a limit counts a call, or nil where it does not count it.
    static func key(
        _ limit: Limit, _ index: Int, _ user: UserName, _ send: RequestedSend?
    ) -> LimitTable.Key? {
        var key = LimitTable.NamedKey(limit: index)
        for part in limit.per {
            switch (part, send) {
            case (.user, _): key.caller = user
            case (.sender, _?): key.caller = user
            case (.recipient, let send?): key.recipient = send.recipient
            case (.pns, let send?): key.service = send.service
            case (.sender, nil), (.recipient, nil), (.pns, nil), (.address, _): return nil
            }
        }
        return .named(key)
    }
}
