import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite struct GCRATests {
    private let second: Int64 = 1_000_000_000

    @Test("A burst is admitted, and then the steady rate") func aBurstIsAdmittedAndThenTheSteadyRate() {
        let rate = GCRA(count: 2, period: second, burst: 3)
        var theoreticalArrival: Int64?
        for _ in 0..<3 {
            #expect(rate.wait(theoreticalArrival: theoreticalArrival, now: 0) == 0)
            theoreticalArrival = rate.charged(theoreticalArrival: theoreticalArrival, now: 0)
        }
        #expect(rate.wait(theoreticalArrival: theoreticalArrival, now: 0) == second / 2)
        #expect(rate.wait(theoreticalArrival: theoreticalArrival, now: second / 2 - 1) == 1)
        #expect(rate.wait(theoreticalArrival: theoreticalArrival, now: second / 2) == 0)
        // After the rate's memory the key has its whole burst again.
        #expect(rate.wait(theoreticalArrival: theoreticalArrival, now: rate.maximumDebt) == 0)
        #expect(
            rate.charged(theoreticalArrival: theoreticalArrival, now: rate.maximumDebt + second)
                == rate.charged(theoreticalArrival: nil, now: rate.maximumDebt + second))
    }

    /// The bound holds for any distribution of the arrivals.
    @Test("Admissions never exceed the burst plus the rate") func admissionsNeverExceedTheBurstPlusTheRate() {
        var random = SplitMix(seed: 10)
        for _ in 0..<200 {
            let count = Int.random(in: 1...20, using: &random)
            let period = Int64.random(in: 1...60, using: &random) * second
            let burst = Int.random(in: 1...20, using: &random)
            let rate = GCRA(count: count, period: period, burst: burst)
            var theoreticalArrival: Int64?
            var now: Int64 = 0
            var admitted: Int64 = 0
            for _ in 0..<400 {
                now += Int64.random(in: 0...(period / Int64(count)), using: &random)
                if rate.wait(theoreticalArrival: theoreticalArrival, now: now) == 0 {
                    theoreticalArrival = rate.charged(theoreticalArrival: theoreticalArrival, now: now)
                    admitted += 1
                }
            }
            #expect(admitted <= Int64(burst) + now / (period / Int64(count)))
        }
    }

    /// The charge is all or nothing.
    @Test("A cost of several equals as many single charges") func aCostOfSeveralEqualsAsManySingleCharges() {
        var random = SplitMix(seed: 24)
        for _ in 0..<2000 {
            let rate = GCRA(
                count: Int.random(in: 1...20, using: &random),
                period: Int64.random(in: 1...60, using: &random) * second,
                burst: Int.random(in: 1...30, using: &random))
            let now = Int64.random(in: 0...100, using: &random) * second
            let start = Bool.random(using: &random) ? nil : Int64.random(in: 0...160, using: &random) * second
            let cost = Int.random(in: 1...35, using: &random)
            var theoreticalArrival = start
            var admitted = 0
            while admitted < cost, rate.wait(theoreticalArrival: theoreticalArrival, now: now) == 0 {
                theoreticalArrival = rate.charged(theoreticalArrival: theoreticalArrival, now: now)
                admitted += 1
            }
            let wait = rate.wait(theoreticalArrival: start, now: now, cost: cost)
            #expect((wait == 0) == (admitted == cost))
            if wait == 0 {
                #expect(rate.charged(theoreticalArrival: start, now: now, cost: cost) == theoreticalArrival)
            }
        }
        let slow = GCRA(count: 1, period: .max, burst: .max)
        #expect(slow.wait(theoreticalArrival: .max / 4, now: .max / 8, cost: 500) >= 0)
        #expect(slow.charged(theoreticalArrival: .max / 4, now: .max / 8, cost: .max) > 0)
    }

    @Test("Extreme numbers do not trap") func extremeNumbersDoNotTrap() {
        for count in [Int.min, 0, 1, .max] {
            for burst in [Int.min, 0, 1, .max] {
                for period in [1, 86_400 * second] {
                    let rate = GCRA(count: count, period: period, burst: burst)
                    let theoreticalArrival = rate.charged(theoreticalArrival: nil, now: second)
                    #expect(rate.wait(theoreticalArrival: theoreticalArrival, now: second) >= 0)
                    #expect(rate.maximumDebt > 0)
                }
            }
        }
    }
}

@Suite struct LimiterTests {
    private let clock = ManualClock()
    private let alice = UserName(canonical: "alice")!
    private let bob = UserName(canonical: "bob")!
    private let carol = UserName(canonical: "carol")!

    private func limiter(_ limits: [Limit], capacity: Int = 1000) -> Limiter {
        Limiter(limits, clocks: clock.clocks, capacity: capacity)
    }

    private func send(to recipient: UserName, _ service: PushService = .apns) -> RequestedSend {
        RequestedSend(service: service, recipient: recipient, text: "hi")
    }

    /// The name and wait of the exhausted limit, or nil.
    private func spent(_ body: () throws -> Void) -> (name: String, seconds: Int)? {
        do {
            try body()
            return nil
        } catch {
            let rejection = error as? Rejection
            #expect(rejection?.code == .rateLimited)
            guard case .limit(let name, let seconds) = rejection?.extra else { return ("?", 0) }
            return (name, seconds)
        }
    }

    @Test("Limits count by their keys") func limitsCountByTheirKeys() {
        let limiter = limiter([
            Limit(name: "pair", per: [.sender, .recipient], count: 1, period: .seconds(60)),
            Limit(name: "service", per: [.sender, .pns], count: 3, period: .seconds(60)),
        ])
        #expect(spent { try limiter.admit(alice, sending: send(to: bob)) } == nil)
        #expect(spent { try limiter.admit(alice, sending: send(to: bob)) }?.name == "pair")
        #expect(spent { try limiter.admit(alice, sending: send(to: carol)) } == nil)
        #expect(spent { try limiter.admit(bob, sending: send(to: carol)) } == nil)
        // Another service is another key of the limit by service, and the same key of the limit by pair.
        #expect(spent { try limiter.admit(alice, sending: send(to: bob, .wns)) }?.name == "pair")
        #expect(spent { try limiter.admit(alice, sending: send(to: alice)) } == nil)
        #expect(spent { try limiter.admit(alice, sending: send(to: UserName(canonical: "dave")!)) }?.name == "service")
        // Limits of sends do not count other calls.
        for _ in 0..<10 { #expect(spent { try limiter.admit(alice, sending: nil) } == nil) }
    }

    @Test("A rejection reports the longest wait, rounded up to seconds")
    func aRejectionReportsTheLongestWaitRoundedUpToSeconds() {
        let limiter = limiter([
            Limit(name: "short", per: [.user], count: 1, period: .milliseconds(1500)),
            Limit(name: "long", per: [.sender], count: 1, period: .milliseconds(2500)),
        ])
        #expect(spent { try limiter.admit(alice, sending: send(to: bob)) } == nil)
        let spent1 = spent { try limiter.admit(alice, sending: send(to: bob)) }
        #expect(spent1?.name == "long" && spent1?.seconds == 3)
        clock.advance(by: .milliseconds(2499))
        #expect(spent { try limiter.admit(alice, sending: send(to: bob)) }?.seconds == 1)
        clock.advance(by: .milliseconds(1))
        #expect(spent { try limiter.admit(alice, sending: send(to: bob)) } == nil)
    }

    @Test("A rejected call charges no limit") func aRejectedCallChargesNoLimit() {
        let limiter = limiter([
            Limit(name: "user", per: [.user], count: 2, period: .seconds(60)),
            Limit(name: "inbox", per: [.recipient], count: 1, period: .seconds(60)),
        ])
        #expect(spent { try limiter.admit(alice, sending: send(to: bob)) } == nil)
        for _ in 0..<5 { #expect(spent { try limiter.admit(alice, sending: send(to: bob)) }?.name == "inbox") }
        #expect(spent { try limiter.admit(alice, sending: send(to: carol)) } == nil)
        #expect(spent { try limiter.admit(alice, sending: nil) }?.name == "user")
    }

    @Test("A successful login is refunded") func aSuccessfulLoginIsRefunded() throws {
        let limiter = limiter([Limit(name: "login", per: [.address], count: 2, period: .seconds(60))])
        for _ in 0..<10 { limiter.refund(try limiter.admitLogin(from: .documentation)) }
        _ = try limiter.admitLogin(from: .documentation)
        _ = try limiter.admitLogin(from: .documentation)
        #expect(spent { _ = try limiter.admitLogin(from: .documentation) }?.name == "login")
        _ = try limiter.admitLogin(from: Peer(address: .v4(9), text: "0.0.0.9"))
        // An IPv6 /64 counts as one address.
        _ = try limiter.admitLogin(from: Peer(address: .v6(1, 1), text: "a"))
        _ = try limiter.admitLogin(from: Peer(address: .v6(1, 2), text: "b"))
        #expect(spent { _ = try limiter.admitLogin(from: Peer(address: .v6(1, 3), text: "c")) } != nil)
        _ = try limiter.admitLogin(from: Peer(address: .v6(2, 1), text: "d"))
    }

    @Test("Debt survives a generation of the table") func debtSurvivesAGenerationOfTheTable() {
        let limiter = limiter([Limit(name: "user", per: [.user], count: 10, period: .seconds(100))])
        for _ in 0..<10 { #expect(spent { try limiter.admit(alice, sending: nil) } == nil) }
        // A generation lasts 100 s. Ten seconds give one call, and the remaining debt survives the generation.
        for _ in 0..<30 {
            clock.advance(by: .seconds(10))
            #expect(spent { try limiter.admit(alice, sending: nil) } == nil)
            #expect(spent { try limiter.admit(alice, sending: nil) } != nil)
        }
        clock.advance(by: .seconds(1000))
        for _ in 0..<10 { #expect(spent { try limiter.admit(alice, sending: nil) } == nil) }
        #expect(spent { try limiter.admit(alice, sending: nil) } != nil)
    }

    @Test("A call above a limit is rejected with the limit's name")
    func aCallAboveALimitIsRejectedWithTheLimitsName() async {
        let gateway = TestGateway { rules in
            rules.limiter = Limiter(
                [Limit(name: "sends", per: [.sender], count: 1, period: .seconds(60))], clocks: ManualClock().clocks)
        }
        #expect(await gateway.serve(Sample.send()).status == 200)
        let response = await gateway.serve(Sample.send())
        #expect(response.code == .rateLimited)
        #expect(response.values("Retry-After") == ["60"])
        #expect(response.json?["limit"]?.string == "sends")
        #expect(gateway.backend.requests.count == 1)
        #expect(gateway.journal.records(.rejection).map(\.result) == ["rate-limited"])
    }

    @Test("Calls that the policy rejects count against limits")
    func callsThatThePolicyRejectsCountAgainstLimits() async {
        let gateway = TestGateway { rules in
            rules.policy.send = []
            rules.limiter = Limiter(
                [Limit(name: "calls", per: [.user], count: 3, period: .seconds(60))], clocks: ManualClock().clocks)
        }
        for _ in 0..<3 { await gateway.expect(.sendNotAllowed, for: Sample.send()) }
        await gateway.expect(.rateLimited, for: Sample.send())
        await gateway.expect(.rateLimited, for: Sample.whoami)
    }
}
