internal import GatewayCore

/// The result of checking charges against the limits.
struct LimitDecision: Sendable {
    /// A charge that its limit rejects, and the time until it is admitted, in nanoseconds.
    typealias RejectedCharge = (charge: LimitCharge, wait: Int64)

    /// The rejected charge with the longest wait. If there is one, nothing was charged.
    var rejected: RejectedCharge?
    /// The charges that shadow limits would reject.
    var shadowRejected: [LimitCharge] = []
}

extension LimitTable {
    /// Applies all charges, or none if a limit is exhausted. A charge that a shadow limit would reject is not applied
    /// to that limit.
    mutating func admit(_ charges: [LimitCharge], now: Int64) -> LimitDecision {
        sweepIfDue(now: now)
        for charge in charges { clampDebt(charge, now: now) }
        let decision = check(charges, now: now)
        if decision.rejected == nil { apply(charges, now: now) }
        return decision
    }

    /// Returns the result of `admit` without applying any charge.
    func check(_ charges: [LimitCharge], now: Int64) -> LimitDecision {
        var decision = LimitDecision()
        for charge in charges {
            let wait = charge.rate.wait(
                theoreticalArrival: theoreticalArrival(of: charge.key), now: now, cost: charge.cost)
            if wait == 0 { continue }
            if charge.isShadow {
                decision.shadowRejected.append(charge)
            } else if wait > decision.rejected?.wait ?? 0 {
                decision.rejected = (charge, wait)
            }
        }
        return decision
    }

    /// Corrects a time beyond the maximum debt, which results from a clock that was set back or from a tighter limit.
    /// Without the correction the key would appear to have the maximum debt until that time.
    private mutating func clampDebt(_ charge: LimitCharge, now: Int64) {
        guard let theoreticalArrival = theoreticalArrival(of: charge.key), theoreticalArrival > now,
            theoreticalArrival - now > charge.rate.maximumDebt
        else {
            return
        }
        set(now + charge.rate.maximumDebt, for: charge.key, now: now)
    }

    private mutating func apply(_ charges: [LimitCharge], now: Int64) {
        for charge in charges {
            let theoreticalArrival = theoreticalArrival(of: charge.key)
            if charge.isShadow,
                charge.rate.wait(theoreticalArrival: theoreticalArrival, now: now, cost: charge.cost) > 0
            {
                continue
            }
            set(
                charge.rate.charged(theoreticalArrival: theoreticalArrival, now: now, cost: charge.cost * weight),
                for: charge.key, now: now)
            pending?.add(charge.rate.time(of: charge.cost), for: charge.key, at: charge.key.position)
        }
    }

    /// Refunds charges.
    mutating func refund(_ charges: [LimitCharge], now: Int64) {
        for charge in charges {
            guard let theoreticalArrival = theoreticalArrival(of: charge.key), theoreticalArrival > now else {
                continue
            }
            let refund = charge.rate.time(of: charge.cost)
            set(theoreticalArrival - charge.rate.time(of: charge.cost * weight), for: charge.key, now: now)
            pending?.add(-min(refund, theoreticalArrival - now), for: charge.key, at: charge.key.position)
        }
    }
}
