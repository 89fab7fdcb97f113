import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import Gateway

@Suite("Calls in flight for each user and address")
struct CallerConcurrencyLimitTests {
    /// A gate that suspends the backend's responses until it opens.
    private final class HeldResponses: Sendable {
        private struct State {
            var isOpen = false
            var waiting: [CheckedContinuation<Void, Never>] = []
            var awaited: (count: Int, continuation: CheckedContinuation<Void, Never>)?
        }

        private let state = Mutex(State())

        func wait() async {
            await withCheckedContinuation { continuation in
                let arrived: CheckedContinuation<Void, Never>? = state.withLock { state in
                    if state.isOpen {
                        continuation.resume()
                        return nil
                    }
                    state.waiting.append(continuation)
                    guard let awaited = state.awaited, state.waiting.count >= awaited.count else { return nil }
                    state.awaited = nil
                    return awaited.continuation
                }
                arrived?.resume()
            }
        }

        func arrived(_ count: Int) async {
            await withCheckedContinuation { continuation in
                let isThere = state.withLock { state in
                    if state.waiting.count >= count { return true }
                    state.awaited = (count, continuation)
                    return false
                }
                if isThere { continuation.resume() }
            }
        }

        func open() {
            let waiting = state.withLock { state in
                defer { (state.isOpen, state.waiting) = (true, []) }
                return state.waiting
            }
            for one in waiting { one.resume() }
        }
    }

    private func gateway(_ held: HeldResponses, _ bounds: CallerConcurrencyLimit.Bounds) -> TestGateway {
        TestGateway(
            adjust: {
                $0.limiter = Limiter([], clocks: ManualClock().clocks)
                $0.callsInFlight = bounds
            },
            answering: { request in
                await held.wait()
                return await ScriptedBackend.alwaysSucceeds(request)
            })
    }

    private func send(as user: String, from address: UInt32 = 1, isProxy: Bool = false) -> ReceivedRequest {
        var request = Sample.send(as: user)
        request.peer = Peer(address: .v4(address), text: "192.0.2.\(address)")
        request.addressIdentifiesClient = !isProxy
        return request
    }

    @Test(
        "A user at the limit gets 429; other users and local endpoints are served")
    func user() async {
        let held = HeldResponses()
        let gateway = gateway(held, CallerConcurrencyLimit.Bounds(perUser: 3))
        await withTaskGroup(of: Response.self) { calls in
            for _ in 0..<3 { calls.addTask { await gateway.serve(send(as: "alice")) } }
            await held.arrived(3)
            for _ in 0..<5 {
                let refused = await gateway.serve(send(as: "alice"))
                #expect(refused.code == .rateLimited && refused.status == 429)
                #expect(refused.values("Retry-After") == ["1"] && refused.text.contains("in-flight-user"))
            }
            #expect(await gateway.serve(Sample.whoami).status == 200)
            calls.addTask { await gateway.serve(send(as: "bob")) }
            await held.arrived(4)
            held.open()
            for await response in calls { #expect(response.status == 200) }
        }
        // Every permit was released.
        for _ in 0..<10 { #expect(await gateway.serve(send(as: "alice")).status == 200) }
    }

    @Test("An address at the limit gets 429; other addresses and proxies are served")
    func address() async {
        let held = HeldResponses()
        let gateway = gateway(held, CallerConcurrencyLimit.Bounds(perAddress: 2))
        await withTaskGroup(of: Response.self) { calls in
            for user in ["alice", "bob"] { calls.addTask { await gateway.serve(send(as: user)) } }
            await held.arrived(2)
            let refused = await gateway.serve(send(as: "carol"))
            #expect(refused.code == .rateLimited && refused.text.contains("in-flight-address"))
            // A request without a route gets 404 as usual.
            var nowhere = ReceivedRequest("GET /nowhere")
            nowhere.peer = send(as: "alice").peer
            #expect(await gateway.serve(nowhere).status == 404)
            calls.addTask { await gateway.serve(send(as: "carol", from: 2)) }
            for _ in 0..<5 { calls.addTask { await gateway.serve(send(as: "eve", from: 3, isProxy: true)) } }
            await held.arrived(8)
            held.open()
            for await response in calls { #expect(response.status == 200) }
        }
    }

    @Test("Every result of a call releases its permits")
    func ends() async {
        let held = HeldResponses()
        held.open()
        let gateway = gateway(held, CallerConcurrencyLimit.Bounds(perUser: 1, perAddress: 1))
        for _ in 0..<3 {
            var wrong = send(as: "alice")
            wrong.authorization = .text("Bearer nobodys-token")
            #expect(await gateway.serve(wrong).code == .credentialsRejected)
            gateway.journal.fail(JournalUnavailable("full"))
            #expect(await gateway.serve(send(as: "alice")).code == .journalUnavailable)
            gateway.journal.fail(nil)
            gateway.backend.queue(.status(500))
            #expect(await gateway.serve(send(as: "alice")).code == .backendFailed)
            var keyed = send(as: "alice")
            keyed.idempotencyKey = .text("k")
            #expect(await gateway.serve(keyed).status == 200)
            #expect(await gateway.serve(send(as: "alice")).status == 200)
        }
    }

    @Test("A call that the in-flight limit rejects counts against the call limit")
    func pays() async {
        let held = HeldResponses()
        let gateway = TestGateway(
            adjust: {
                $0.limiter = Limiter(
                    [Limit(name: "calls", per: [.user], count: 3, period: .seconds(60))], clocks: ManualClock().clocks)
                $0.callsInFlight = CallerConcurrencyLimit.Bounds(perUser: 1)
            },
            answering: { request in
                await held.wait()
                return await ScriptedBackend.alwaysSucceeds(request)
            })
        async let first = gateway.serve(send(as: "alice"))
        await held.arrived(1)
        for _ in 0..<2 { #expect(await gateway.serve(send(as: "alice")).text.contains("in-flight-user")) }
        #expect(await gateway.serve(send(as: "alice")).text.contains("\"limit\":\"calls\""))
        held.open()
        #expect(await first.status == 200)
    }

    @Test("Keys count separately, so a thousand keys with one call each do not affect another key")
    func keys() throws {
        let (calls, bounds) = (CallerConcurrencyLimit(), CallerConcurrencyLimit.Bounds(perUser: 16))
        var all: [CallerConcurrencyLimit.Permits] = []
        for number in 0..<1000 {
            var permits = CallerConcurrencyLimit.Permits()
            try calls.acquire(try #require(UserName(canonical: "user\(number)")), bounds, &permits)
            all.append(permits)
        }
        let alice = try #require(UserName(canonical: "alice"))
        var own: [CallerConcurrencyLimit.Permits] = []
        for _ in 0..<8 {
            own.append(CallerConcurrencyLimit.Permits())
            try calls.acquire(alice, bounds, &own[own.count - 1])
        }
        for permits in all + own { calls.release(permits) }
        for _ in 0..<16 {
            own.append(CallerConcurrencyLimit.Permits())
            try calls.acquire(alice, bounds, &own[own.count - 1])
        }
        var refused = CallerConcurrencyLimit.Permits()
        #expect(throws: Rejection.self) { try calls.acquire(alice, bounds, &refused) }
    }
}
