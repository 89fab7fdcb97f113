import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import GatewayServer

@Suite("Readiness of the stores")
struct StoreHealthCheckTests {
    /// A store that responds when the test lets it.
    private final class Store: Sendable {
        private let (answers, answer) = AsyncStream<String?>.makeStream()
        let asked = Counter()

        func finish(_ obstacle: String?) { answer.yield(obstacle) }

        @Sendable func ask() async -> String? {
            asked.add()
            for await obstacle in answers { return obstacle }
            return nil
        }
    }

    @Test("A store that hangs makes the gateway not ready after the limit, is queried once, and recovers")
    func hanging() async throws {
        let clock = ManualClock()
        let store = Store()
        let check = StoreHealthCheck("journal", limit: .milliseconds(20), clocks: clock.clocks) { await store.ask() }
        let readiness = Readiness(stores: [check])
        #expect(await readiness.obstacle() == "starting")
        readiness.enter(.serving)
        #expect(await readiness.obstacle() == "journal: no write has completed for 0.02 s")
        clock.advance(by: .milliseconds(20))
        #expect(await readiness.obstacle() == "journal: no write has completed for 0.02 s")
        #expect(store.asked.value == 1)
        store.finish(nil)
        // The pending query completes now or has completed. The next query finds a result.
        store.finish(nil)
        while await readiness.obstacle() != nil { store.finish(nil) }
        #expect(await StoreHealthCheck("x", clocks: clock.clocks) { nil }.obstacle() == nil)
        readiness.enter(.draining)
        #expect(await readiness.obstacle() == "draining")
    }

    @Test("Readiness names the first store that fails and reuses a good result for a limited time")
    func failing() async throws {
        let clock = ManualClock()
        let asked = Counter()
        let good = StoreHealthCheck("ledger", reuse: .seconds(1), clocks: clock.clocks) {
            asked.add()
            return nil
        }
        let bad = StoreHealthCheck("journal", clocks: clock.clocks) { "no space" }
        let readiness = Readiness(stores: [bad, good]) { "line 1 is missing" }
        readiness.enter(.serving)
        #expect(await readiness.obstacle() == "journal: no space")
        #expect(await good.obstacle() == nil)
        #expect(asked.value == 1)
        clock.advance(by: .seconds(1))
        #expect(await good.obstacle() == nil)
        #expect(asked.value == 2)
        #expect(readiness.warning?.contains("line 1 is missing") == true)
    }
}
