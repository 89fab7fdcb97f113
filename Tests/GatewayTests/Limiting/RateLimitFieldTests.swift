import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("RateLimit fields") struct RateLimitFieldTests {
    private func gateway(_ limits: [Limit], policy: Policy? = nil) -> TestGateway {
        let clock = ManualClock()
        return TestGateway { rules in
            rules.limiter = Limiter(limits, clocks: clock.clocks)
            if let policy { rules.policy = policy }
        }
    }

    private func told(_ response: Response) -> [String] {
        response.values("RateLimit-Policy") + response.values("RateLimit")
    }

    @Test("Admitted and rejected calls report the remaining quota")
    func both() async {
        let gateway = gateway([
            Limit(name: "sends", per: [.sender], count: 2, period: .seconds(60)),
            Limit(name: "calls", per: [.user], count: 600, period: .seconds(60)),
        ])
        let policy = #""sends";q=2;w=60, "calls";q=600;w=60"#
        #expect(told(await gateway.serve(Sample.send())) == [policy, #""sends";r=1;t=30, "calls";r=599;t=1"#])
        #expect(told(await gateway.serve(Sample.send())) == [policy, #""sends";r=0;t=60, "calls";r=598;t=1"#])
        let refused = await gateway.serve(Sample.send())
        #expect(refused.status == 429 && refused.values("Retry-After") == ["30"])
        #expect(told(refused) == [policy, #""sends";r=0;t=60, "calls";r=598;t=1"#])
        // A call other than a send does not count as one.
        #expect(told(await gateway.serve(Sample.whoami)) == [#""calls";q=600;w=60"#, #""calls";r=597;t=1"#])
    }

    @Test("Limits by recipient, pair, group, service or address, and shadow limits, are not reported")
    func others() async {
        let kinds: [Set<Limit.Key>] = [
            [.recipient], [.sender, .recipient], [.group], [.sender, .pns], [.user, .address],
        ]
        for (index, per) in kinds.enumerated() {
            let gateway = gateway([
                Limit(name: "limit\(index)", per: per, count: 1, period: .seconds(60))
            ])
            for status in [200, 429] {
                let response = await gateway.serve(Sample.send())
                #expect(response.status == status && told(response) == [])
            }
        }
        let trial = gateway([Limit(name: "x", per: [.user], count: 1, period: .seconds(60), isShadow: true)])
        #expect(told(await trial.serve(Sample.send())) == [])
        let exempt = gateway([
            Limit(name: "a", per: [.user], count: 5, period: .seconds(60), exempt: [.group(GroupName("dispatch")!)]),
            Limit(name: "b", per: [.user], count: 5, period: .seconds(1)),
        ])
        #expect(told(await exempt.serve(Sample.whoami)) == [#""b";q=5;w=1"#, #""b";r=4;t=1"#])
    }

    @Test("Unauthenticated callers get no fields; callers whom the policy rejects get them")
    func unknownCallers() async {
        let limits = [Limit(name: "calls", per: [.user], count: 3, period: .seconds(60))]
        let gateway = gateway(limits, policy: Policy(send: []))
        for request in [
            ReceivedRequest("GET /auth/whoami"), ReceivedRequest("GET /nowhere", as: "alice"),
            ReceivedRequest("GET /auth/whoami", authorization: .basic("alice", "wrong")),
        ] { #expect(told(await gateway.serve(request)) == []) }
        let refused = await gateway.expect(.sendNotAllowed, for: Sample.send())
        #expect(told(refused) == [#""calls";q=3;w=60"#, #""calls";r=2;t=20"#])
    }

    @Test("A burst above the quota is reported as the quota, and names conform to the field's grammar")
    func grammar() async {
        let gateway = gateway([
            Limit(name: "a\"b", per: [.user], count: 1, period: .seconds(1)),
            Limit(name: "h", per: [.user], count: 2, period: .seconds(3600), burst: 9),
        ])
        #expect(told(await gateway.serve(Sample.whoami)) == [#""h";q=2;w=3600"#, #""h";r=2;t=1800"#])
    }
}
