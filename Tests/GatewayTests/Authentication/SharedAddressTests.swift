import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

/// Many users behind one address, with the default limits of a gateway.
@Suite("Users behind one address")
struct SharedAddressTests {
    private static let office = Peer.v4(0xCB00_7101)

    @Test("200 devices with old passwords do not affect 20 users with good ones", arguments: [true, false])
    func oldPasswords(dependsOnPeer: Bool) async {
        let workers = (0..<20).map { "worker\($0)" }
        let asked = CountingAuthenticator(Dictionary(uniqueKeysWithValues: workers.map { ($0, "good") }))
        let clock = ManualClock()
        let gateway = TestGateway(asking: asked, dependsOnPeer: dependsOnPeer) { rules in
            rules.limiter = Limiter(Limit.defaults, clocks: clock.clocks)
        }
        for worker in workers { #expect(await gateway.login(worker, "good", from: Self.office) == 200) }
        var refused = 0
        // Within five minutes the cached acceptances expire several times.
        for _ in 0..<300 {
            for device in 0..<200 {
                // Every tenth device belongs to one of the workers.
                let user = device % 10 == 0 ? workers[device / 10] : "former\(device)"
                let status = await gateway.login(user, "old \(device)", from: Self.office)
                #expect(status == 401 || status == 429)
            }
            for worker in workers where await gateway.login(worker, "good", from: Self.office) != 200 { refused += 1 }
            gateway.scheduler.advance(by: .seconds(1))
            clock.advance(by: .seconds(1))
        }
        #expect(refused == 0)
        for device in 0..<200 {
            let user = device % 10 == 0 ? workers[device / 10] : "former\(device)"
            #expect(asked.verificationCount(user, "old \(device)") <= 1)
        }
        #expect(asked.verificationCount("worker3", "good") == 5)
    }

    @Test("A flood of bad tokens is limited by address, and good passwords of known users are accepted")
    func badTokens() async {
        let clock = ManualClock()
        let gateway = TestGateway { $0.limiter = Limiter(Limit.defaults, clocks: clock.clocks) }
        #expect(await gateway.serve(Sample.whoami).status == 200)
        let bad = ReceivedRequest("GET /auth/whoami", authorization: .text("Bearer wrong"))
        for _ in 0..<600 { await gateway.expect(.credentialsRejected, for: bad) }
        await gateway.expect(.rateLimited, for: bad)
        await gateway.expect(.rateLimited, for: .login("stranger", "x"))
        gateway.gateway.passwordCache.removeAll()
        #expect(await gateway.serve(Sample.whoami).status == 200)
    }
}
