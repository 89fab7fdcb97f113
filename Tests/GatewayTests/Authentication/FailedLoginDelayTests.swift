import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("The delay of failed logins")
struct FailedLoginDelayTests {
    private func gateway(
        _ authenticator: any Authenticator = CountingAuthenticator(["alice": "good"]), most: Int = 1024
    ) -> TestGateway {
        TestGateway(asking: authenticator) { rules in
            rules.authentication = AuthenticationRules(maximumDelayedRejections: most)
        }
    }

    @Test("A failed login gets its response after 300 ms to 385 ms")
    func floor() async {
        let gateway = gateway()
        for password in ["wrong", "wrong", "other"] {
            async let response = gateway.serve(.login("alice", password))
            await gateway.scheduler.untilWaiting(1)
            gateway.scheduler.advance(by: .nanoseconds(299_999_999))
            #expect(gateway.scheduler.waiting == 1)
            gateway.scheduler.advance(by: .nanoseconds(85_000_001))
            #expect(await response.code == .credentialsRejected)
        }
    }

    @Test("The random part of the delay covers 0 ms to 85 ms inclusive")
    func spread() async {
        for (random, milliseconds) in [(UInt64(0), 300), (85_000_000, 385), (85_000_001, 300)] {
            let clock = ManualClock()
            let scheduler = ManualScheduler(clock: clock)
            let floor = FailedLoginDelay(
                rules: AuthenticationRules(), clocks: clock.clocks, scheduler: scheduler, randomness: { random })
            let theoreticalArrival = clock.clocks.monotonic()
            async let over: Void? = try? floor.wait(since: theoreticalArrival)
            await scheduler.untilWaiting(1)
            scheduler.advance(by: .milliseconds(milliseconds) - .nanoseconds(1))
            #expect(scheduler.waiting == 1)
            scheduler.advance(by: .nanoseconds(1))
            #expect(await over != nil)
        }
    }

    @Test("The delay counts from the theoreticalArrival of the request")
    func fromArrival() async {
        for (slow, rest) in [(Duration.milliseconds(250), 1), (.milliseconds(400), 0)] {
            let late = LateAuthenticator()
            let gateway = gateway(late)
            async let response = gateway.serve(.login("alice", "x"))
            await gateway.scheduler.untilWaiting(1)
            gateway.scheduler.advance(by: slow)
            late.respond(.rejected(.wrong))
            if rest == 1 {
                await gateway.scheduler.untilScheduled(2)
                gateway.scheduler.advance(by: .milliseconds(135))
            }
            #expect(await response.code == .credentialsRejected)
            #expect(gateway.scheduler.timesScheduled == 1 + rest)
        }
    }

    @Test("An unknown user and a wrong password get the same response at the same time")
    func indistinguishable() async {
        let gateway = gateway()
        async let unknown = gateway.serve(.login("nobody", "wrong"))
        async let wrong = gateway.serve(.login("alice", "wrong"))
        await gateway.scheduler.untilWaiting(2)
        // The test's randomness is constant, so both delays end at one instant.
        gateway.scheduler.advance(by: .milliseconds(385))
        #expect(gateway.scheduler.waiting == 0)
        let (first, second) = await (unknown, wrong)
        #expect(first == second && first.status == 401)
    }

    @Test("Tokens, good passwords and outages are not delayed")
    func notDelayed() async {
        let gateway = TestGateway { $0.authentication = AuthenticationRules() }
        #expect(await gateway.serve(Sample.whoami).status == 200)
        for field in ["Bearer alices-token", "Bearer wrong", "Basic junk"] {
            _ = await gateway.serve(ReceivedRequest("GET /auth/whoami", authorization: .text(field)))
        }
        #expect(await self.gateway(ScriptedAuthenticator(always: .unavailable(.failed))).login("a", "x") == 503)
        #expect(gateway.scheduler.timesScheduled == 0)
    }

    @Test("A failed login above the limit of waiting ones gets 429")
    func bounded() async {
        let gateway = gateway(most: 3)
        await withTaskGroup { tasks in
            for number in 0..<3 { tasks.addTask { await gateway.login("user\(number)", "x") } }
            await gateway.scheduler.untilWaiting(3)
            let response = await gateway.serve(.login("user4", "x"))
            #expect(response.code == .rateLimited && response.values("Retry-After") == ["1"])
            gateway.scheduler.advance(by: .milliseconds(385))
            for await status in tasks { #expect(status == 401) }
        }
        // The finished logins released their places.
        async let status = gateway.login("user5", "x")
        await gateway.scheduler.untilWaiting(1)
        gateway.scheduler.advance(by: .milliseconds(385))
        #expect(await status == 401)
    }
}
