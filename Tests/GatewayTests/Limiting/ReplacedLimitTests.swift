import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Replacement of limits") struct ReplacedLimitTests {
    private let clock = ManualClock()
    private let alice = Identity.test(.numbered(1), "red")

    private func limit(
        _ name: String, _ per: Set<Limit.Key>, _ count: Int, burst: Int? = nil, shadow: Bool = false
    ) -> Limit { Limit(name: name, per: per, count: count, period: .seconds(60), burst: burst, isShadow: shadow) }

    private func limit(_ count: Int, burst: Int? = nil) -> Limit { limit("calls", [.user], count, burst: burst) }

    private func spending(_ limit: Limit, _ calls: Int) -> Limiter {
        let limiter = Limiter([limit], clocks: clock.clocks, capacity: 1000)
        for _ in 0..<calls { #expect(limiter.admits(alice, to: .numbered(2))) }
        return limiter
    }

    private func left(_ limiter: Limiter) -> Int {
        limiter.statuses(of: alice, at: .documentation, sending: nil)[0].remaining
    }

    @Test("An unchanged limit keeps its state, at any position in the list")
    func kept() {
        let before = spending(limit(10), 7)
        let after = before.replacing([limit("other", [.group], 5), limit(10)])
        #expect(after.statuses(of: alice, at: .documentation, sending: nil).map(\.remaining) == [5, 3])
        // A call that the old limiter admits also counts in the new one.
        #expect(before.admits(alice))
        #expect(after.statuses(of: alice, at: .documentation, sending: nil).map(\.remaining) == [5, 2])
    }

    @Test("A limit with another name or other keys starts anew, and so does a limit that was removed before")
    func others() {
        let before = spending(limit("calls", [.user], 10), 7)
        #expect(left(before.replacing([limit("called", [.user], 10)])) == 10)
        let keyed = spending(limit("calls", [.user], 10), 7).replacing([limit("calls", [.user, .group], 10)])
        #expect(left(keyed) == 10)
        #expect(left(spending(limit(10), 7).replacing([]).replacing([limit(10)])) == 10)
    }

    @Test("A replaced limit keeps the debt as time, up to the maximum of the new rate")
    func rates() {
        // The debt is 42 of 60 seconds.
        #expect(left(spending(limit(10), 7).replacing([limit(100)])) == 30)
        #expect(left(spending(limit(10), 7).replacing([limit(20, burst: 5)])) == 0)
        let narrow = spending(limit(10), 10).replacing([limit(60, burst: 2)])
        // The debt is capped at two calls, which are two seconds, so the wait is one second instead of a minute.
        #expect(narrow.refusing(alice)?.seconds == 1)
        clock.advance(by: .seconds(1))
        #expect(narrow.admits(alice) && !narrow.admits(alice))
    }

    @Test("A shadow limit that becomes enforced keeps its count, and a new exemption applies at once")
    func trialAndExemption() {
        let trial = spending(limit("calls", [.user], 2, shadow: true), 5)
        let limiter = trial.replacing([limit(2)])
        #expect(limiter.refusing(alice)?.name == "calls")
        var free = limit(2)
        free.exempt = [.group(GroupName("red")!)]
        #expect(limiter.replacing([free]).admits(alice))
    }

    @Test("The gateway's own limit survives a replacement of the configured ones")
    func ownLimit() async {
        let clock = ManualClock()
        let limiter = Limiter([], clocks: clock.clocks)
        let request = ReceivedRequest("GET /auth/notifications-received", as: "alice")
        let first = TestGateway { $0.limiter = limiter }
        for _ in 0..<10 { #expect(await first.serve(request).status == 200) }
        let second = TestGateway { $0.limiter = limiter.replacing([limit(100)]) }
        #expect(await second.serve(request).code == .rateLimited)
    }

    @Test("The keys of replaced limits are forgotten")
    func manyReplacements() {
        var limiter = Limiter([], clocks: clock.clocks, capacity: 500)
        for number in 0..<2000 {
            limiter = limiter.replacing([limit("limit\(number % 5 == 0 ? 0 : number)", [.user], 1)])
            _ = limiter.admits(.test(.numbered(number)))
            clock.advance(by: .milliseconds(100))
        }
        #expect(limiter.keyCount <= 500)
        #expect(limiter.admits(.test(.numbered(5000))))
        #expect(!limiter.admits(.test(.numbered(5000))))
    }
}
