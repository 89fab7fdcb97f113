public import GatewayCore
internal import Synchronization

/// Counts calls against the limits, in memory, bounded.
///
/// Shared by all loops, by short critical sections of a few table look-ups each: a limit that each loop counted for itself would
/// be as many limits as there are loops. Several limits are asked at once: all are checked, then all are charged, so that a
/// refused call charges none.
public final class Limiter: Sendable {
    let rules: [LimitRule]
    let store: LimitStore
    let clocks: Clocks
    let fields: RateLimitFields
    private let loginRules: [Int]
    /// Those that count what limits in trial would refuse, in the order of the rules; nil for a limit that refuses.
    private let trials: [Counter?]

    /// A limiter for the limits, of which nobody has spent anything. All keys of all limits together take at most `capacity`
    /// places of 40 bytes, of which at least three in eight are in use once there are many.
    public convenience init(_ limits: [Limit], clocks: Clocks, capacity: Int = 1_000_000) {
        let store = LimitStore(capacity: capacity, now: clocks.monotonic().nanoseconds)
        self.init(limits, numbers: store.adopt(limits), store: store, clocks: clocks)
    }

    private init(_ limits: [Limit], numbers: [UInt16], store: LimitStore, clocks: Clocks) {
        rules = zip(limits, numbers).map { LimitRule($0, number: $1) }
        loginRules = limits.indices.filter { limits[$0].countsLogins }
        fields = RateLimitFields(rules)
        trials = limits.map { $0.isShadow ? store.trial(of: $0) : nil }
        self.store = store
        self.clocks = clocks
    }

    /// A limiter for other limits that goes on where this one stands. From any thread; this one must not be asked for new calls
    /// afterwards, and those that it has admitted end in good order.
    ///
    /// A limit of the same name that counts by the same keeps what its keys owe, as a time: with a new rate or burst a key has
    /// its full burst again when it would have had it before, or once it could have run that debt up under the new limit, if that
    /// is sooner. Whoever becomes exempt is not counted any more, and what a limit in trial has counted stays when it begins to
    /// refuse. All other limits begin anew, and those that are gone are forgotten.
    public func replacing(_ limits: [Limit]) -> Limiter {
        Limiter(limits, numbers: store.adopt(limits), store: store, clocks: clocks)
    }

    /// A limiter for further limits in the same table, which outlast `replacing`.
    func beside(_ limits: [Limit]) -> Limiter {
        Limiter(limits, numbers: store.adopt(limits, areForGood: true), store: store, clocks: clocks)
    }

    /// The limits that it counts against.
    public var limits: [Limit] { rules.map(\.limit) }

    /// How often each limit in trial would have refused a call, or skipped a member of an audience, since the start of the process.
    public var wouldRefuse: [(limit: String, count: UInt64)] {
        zip(rules, trials).compactMap { rule, trial in trial.map { (rule.limit.name, $0.value) } }
    }

    func noteTrial(_ rule: Int) { trials[rule]?.add() }

    /// Whether those who are asked about pay.
    enum Payment: Sendable, Hashable {
        /// They do: the call is carried out if they can.
        case charged
        /// They do not: somebody wants to know whether they could.
        case lookedAt
    }

    /// What a login was charged, to be given back if the credential was good.
    struct LoginTicket: Sendable {
        fileprivate let charges: [LimitCharge]
    }

    /// Charges the peer's address for a credential that is about to be judged.
    func admitLogin(from peer: Peer) throws(Refusal) -> LoginTicket {
        if loginRules.isEmpty { return LoginTicket(charges: []) }
        var subject = LimitSubject()
        subject.address = peer.limitKey
        let digests = SubjectDigests(subject, store.digests)
        var charges: [LimitCharge] = []
        for index in loginRules { rules[index].append(subject, digests, to: &charges, as: index) }
        _ = try admit(charges, subject, .charged)
        return LoginTicket(charges: charges)
    }

    /// Gives a login's charge back.
    func giveBack(_ ticket: LoginTicket) {
        if ticket.charges.isEmpty { return }
        let now = now
        store.table.withLock { $0.giveBack(ticket.charges, now: now) }
    }

    /// Charges an authorized call to all limits that count it.
    ///
    /// - Returns: the names of limits in trial that would have refused it.
    @discardableResult func admit(
        _ caller: Identity, at peer: Peer, sending send: RequestedSend?, _ payment: Payment = .charged
    ) throws(Refusal) -> [String] {
        let subject = LimitSubject(caller, at: peer, sending: send)
        return try admit(charges(subject), subject, payment)
    }

    /// Charges a call that was refused before it came to the limits, as far as limits count every call.
    @discardableResult func admit(
        refusedCallOf caller: Identity, at peer: Peer, _ payment: Payment = .charged
    ) throws(Refusal) -> [String] {
        let subject = LimitSubject(caller, at: peer)
        return try admit(charges(subject), subject, payment)
    }

    private func admit(
        _ charges: [LimitCharge], _ subject: LimitSubject, _ payment: Payment
    ) throws(Refusal) -> [String] {
        let now = now
        let verdict = store.table.withLock { table in
            payment == .charged ? table.admit(charges, now: now) : table.look(charges, now: now)
        }
        if payment == .charged { note(verdict, subject) }
        if let spent = verdict.spent { throw refusal(spent) }
        return verdict.shadowed.isEmpty ? [] : names(verdict.shadowed)
    }

    /// What a call is charged by the limits that count it. Those of logins are asked elsewhere.
    func charges(_ subject: LimitSubject) -> [LimitCharge] {
        let digests = SubjectDigests(subject, store.digests)
        var charges: [LimitCharge] = []
        charges.reserveCapacity(rules.count)
        for (index, rule) in rules.enumerated() where !rule.countsLogins {
            rule.append(subject, digests, to: &charges, as: index)
        }
        return charges
    }

    func refusal(_ spent: LimitVerdict.Spent) -> Refusal {
        let name = rules[spent.charge.rule].limit.name
        return Refusal(
            .rateLimited, "limit \(name)",
            extra: .limit(name: name, retryAfterSeconds: max(1, spent.wait.secondsRoundedUp)))
    }

    /// The names of the charges' limits, each once.
    func names(_ charges: [LimitCharge]) -> [String] {
        var names: [String] = []
        for charge in charges {
            let name = rules[charge.rule].limit.name
            if !names.contains(name) { names.append(name) }
        }
        return names
    }

    var now: Int64 { clocks.monotonic().nanoseconds }
}

extension Int64 {
    /// Nanoseconds in whole seconds, rounded up.
    var secondsRoundedUp: Int { Int(self / 1_000_000_000) + (self % 1_000_000_000 > 0 ? 1 : 0) }
}
