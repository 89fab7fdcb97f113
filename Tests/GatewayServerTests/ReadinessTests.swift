import NIOCore
import Testing

@testable import GatewayHTTP
@testable import GatewayServer

@Suite("Readiness")
struct ReadinessTests {
    @Test("A gateway that has rejected calls because of overload for 30 seconds is not ready until it stops rejecting")
    func overload() async {
        let readiness = Readiness(stores: [])
        let calls = InFlightLimit(maximum: 1)
        func at(_ seconds: Int64) -> NIODeadline { .uptimeNanoseconds(1) + .seconds(seconds) }
        readiness.enter(.serving)
        readiness.watch(calls)
        #expect(await readiness.obstacle(now: at(0)) == nil)
        for second in 0..<30 as Range<Int64> { calls.recordRejection(at(second)) }
        #expect(await readiness.obstacle(now: at(30)) == nil)
        calls.recordRejection(at(30))
        #expect(await readiness.obstacle(now: at(31)) == "overloaded: calls have been rejected for 30 s")
        #expect(await readiness.obstacle(now: at(36)) == nil)
        readiness.enter(.draining)
        #expect(await readiness.obstacle(now: at(31)) == "draining")
    }
}
