internal import GatewayCore
public import GatewaySupport
internal import Synchronization

/// The rate limiter: counts calls against the limits, in bounded memory.
///
/// Shared by all event loops; each critical section takes a few table look-ups. If each loop counted by itself, every
/// limit would be multiplied by the number of loops. All limits of a call are checked before any of them is charged, so
/// that a call that one limit rejects is charged to none of them.
public final class Limiter: Sendable {
    let rules: [LimitRule]
    let store: LimitStore
    let clocks: Clocks
    let fields: RateLimitFields
    private let loginRules: [Int]
    /// The counters of calls that shadow limits would reject, in the order of the rules; nil for an enforced limit.
    private let shadowCounters: [Counter?]

    /// Creates a limiter with an empty table. All keys of all limits together use at most `capacity` entries of 40
    /// bytes. Once the table has grown, at least three eighths of them are in use.
    ///
    /// - Parameter sharing: What the limiter shares with other nodes; nil without a shared store.
    public convenience init(
        _ limits: [Limit], clocks: Clocks, capacity: Int = 1_000_000, sharing: DebtSharing? = nil
    ) {
        let store = LimitStore(capacity: capacity, now: clocks.monotonic().nanoseconds, sharing: sharing)
        self.init(limits, numbers: store.register(limits), store: store, clocks: clocks)
    }

    private init(_ limits: [Limit], numbers: [UInt16], store: LimitStore, clocks: Clocks) {
        rules = zip(limits, numbers).map { LimitRule($0, number: $1, isShared: store.sharing != nil) }
        loginRules = limits.indices.filter { limits[$0].countsLogins }
        fields = RateLimitFields(rules)
        shadowCounters = limits.map { $0.isShadow ? store.shadowCounter(of: $0) : nil }
        self.store = store
        self.clocks = clocks
    }

    /// Creates a limiter for other limits that continues with this one's state. Safe on any thread. This limiter must
    /// not get new calls afterwards; calls that it has admitted complete normally.
    ///
    /// A limit with the same name and key words keeps the debt of each key, as a time. Under a new rate or burst, a key
    /// regains its full burst when it would have before, or after the maximum debt of the new limit, whichever is
    /// sooner. New exemptions apply at once, and a shadow limit that becomes enforced keeps its counts. All other
    /// limits start empty, and removed limits are discarded.
    public func replacing(_ limits: [Limit]) -> Limiter {
        Limiter(limits, numbers: store.register(limits), store: store, clocks: clocks)
    }

    /// Creates a separate limiter that enforces only the given limits, in this limiter's table. `replacing` keeps them.
    func adding(_ limits: [Limit]) -> Limiter {
        Limiter(limits, numbers: store.register(limits, arePinned: true), store: store, clocks: clocks)
    }

    /// The limits.
    public var limits: [Limit] { rules.map(\.limit) }

    /// The number of calls or audience members that each shadow limit would have rejected, since the process started.
    public var wouldReject: [(limit: String, count: UInt64)] {
        zip(rules, shadowCounters).compactMap { rule, shadowCounter in shadowCounter.map { (rule.limit.name, $0.value) }
        }
    }

    /// Counts a call that the shadow limit with this index would have rejected.
    func recordShadowRejection(_ rule: Int) { shadowCounters[rule]?.add() }

    /// Whether a check is charged.
    enum ChargeMode: Sendable, Hashable {
        /// The check is charged if all limits admit the call.
        case charged
        /// The check is not charged, for a dry run.
        case dryRun
    }

    /// The charge of a login, to be refunded if the credential is valid.
    struct LoginCharge: Sendable {
        fileprivate let charges: [LimitCharge]
    }

    /// Charges the peer's address for a credential that is about to be verified.
    func admitLogin(from peer: Peer) throws(Rejection) -> LoginCharge {
        if loginRules.isEmpty { return LoginCharge(charges: []) }
        var subject = LimitSubject()
        subject.address = peer.limitKey
        let digests = SubjectDigests(subject, store.digests)
        var charges: [LimitCharge] = []
        for index in loginRules { rules[index].append(subject, digests, to: &charges, as: index) }
        _ = try admit(charges, subject, .charged)
        return LoginCharge(charges: charges)
    }

    /// Refunds the charge of a login.
    func refund(_ charge: LoginCharge) {
        if charge.charges.isEmpty { return }
        let now = now
        store.table.withLock { $0.refund(charge.charges, now: now) }
    }

    /// Charges an authorized call to all limits that count it.
    ///
    /// - Returns: The names of shadow limits that would have rejected it.
    @discardableResult func admit(
        _ caller: Identity, at peer: Peer, sending send: RequestedSend?, _ chargeMode: ChargeMode = .charged
    ) throws(Rejection) -> [String] {
        let subject = LimitSubject(caller, at: peer, sending: send)
        return try admit(charges(subject), subject, chargeMode)
    }

    /// Charges a call that an earlier phase rejected. Only limits that count every call count it.
    @discardableResult func admit(
        rejectedCallOf caller: Identity, at peer: Peer, _ chargeMode: ChargeMode = .charged
    ) throws(Rejection) -> [String] {
        let subject = LimitSubject(caller, at: peer)
        return try admit(charges(subject), subject, chargeMode)
    }

    private func admit(
        _ charges: [LimitCharge], _ subject: LimitSubject, _ chargeMode: ChargeMode
    ) throws(Rejection) -> [String] {
        let now = now
        let decision = store.table.withLock { table in
            chargeMode == .charged ? table.admit(charges, now: now) : table.check(charges, now: now)
        }
        if chargeMode == .charged { recordExhausted(decision, subject) }
        if let exhausted = decision.rejected { throw rejection(exhausted) }
        return decision.shadowRejected.isEmpty ? [] : names(decision.shadowRejected)
    }

    /// Returns the charges of a call. Limits of logins are not included.
    func charges(_ subject: LimitSubject) -> [LimitCharge] {
        let digests = SubjectDigests(subject, store.digests)
        var charges: [LimitCharge] = []
        charges.reserveCapacity(rules.count)
        for (index, rule) in rules.enumerated() where !rule.countsLogins {
            rule.append(subject, digests, to: &charges, as: index)
        }
        return charges
    }

    /// Returns the rejection of a call that a limit rejects, with the time to wait.
    func rejection(_ exhausted: LimitDecision.RejectedCharge) -> Rejection {
        let name = rules[exhausted.charge.rule].limit.name
        return Rejection(
            .rateLimited, "limit \(name)",
            extra: .limit(name: name, retryAfterSeconds: max(1, exhausted.wait.secondsRoundedUp)))
    }

    /// Returns the distinct names of the charges' limits.
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
    /// The nanoseconds as seconds, rounded up.
    var secondsRoundedUp: Int { Int(self / 1_000_000_000) + (self % 1_000_000_000 > 0 ? 1 : 0) }
}
