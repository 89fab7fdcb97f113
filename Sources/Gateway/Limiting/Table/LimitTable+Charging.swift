internal import GatewayCore

/// What a limiter says to charges.
struct LimitVerdict: Sendable {
    /// A charge that was more than there was, and how long until there is enough.
    typealias Spent = (charge: LimitCharge, wait: Int64)

    /// Where the longest wait is; nothing was charged then.
    var spent: Spent?
    /// Those that would be refused by limits that refuse nobody.
    var shadowed: [LimitCharge] = []
}

extension LimitTable {
    /// Charges all, or none and says which was spent and for how long. What a limit that refuses nobody would refuse is not
    /// charged by that limit.
    mutating func admit(_ charges: [LimitCharge], now: Int64) -> LimitVerdict {
        sweepIfDue(now: now)
        for charge in charges { setRight(charge, now: now) }
        let verdict = look(charges, now: now)
        if verdict.spent == nil { take(charges, now: now) }
        return verdict
    }

    /// What `admit` would answer, without charging anything.
    func look(_ charges: [LimitCharge], now: Int64) -> LimitVerdict {
        var verdict = LimitVerdict()
        for charge in charges {
            let wait = charge.rate.wait(arrival: arrival(of: charge.key), now: now, cost: charge.cost)
            if wait == 0 { continue }
            if charge.isShadow {
                verdict.shadowed.append(charge)
            } else if wait > verdict.spent?.wait ?? 0 {
                verdict.spent = (charge, wait)
            }
        }
        return verdict
    }

    /// A clock that was set back, or a limit that was made narrower, leaves a time that the key cannot owe. It is set right for
    /// good, or the key would seem to owe all that it can until that time.
    private mutating func setRight(_ charge: LimitCharge, now: Int64) {
        guard let arrival = arrival(of: charge.key), arrival > now, arrival - now > charge.rate.memory else { return }
        set(now + charge.rate.memory, for: charge.key, now: now)
    }

    private mutating func take(_ charges: [LimitCharge], now: Int64) {
        for charge in charges {
            let arrival = arrival(of: charge.key)
            if charge.isShadow, charge.rate.wait(arrival: arrival, now: now, cost: charge.cost) > 0 { continue }
            set(charge.rate.charged(arrival: arrival, now: now, cost: charge.cost), for: charge.key, now: now)
        }
    }

    /// Takes charges back.
    mutating func giveBack(_ charges: [LimitCharge], now: Int64) {
        for charge in charges {
            guard let arrival = arrival(of: charge.key), arrival > now else { continue }
            set(arrival - charge.rate.time(of: charge.cost), for: charge.key, now: now)
        }
    }
}
