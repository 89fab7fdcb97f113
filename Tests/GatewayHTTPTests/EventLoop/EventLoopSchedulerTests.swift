import Dispatch
import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import GatewayHTTP

@Suite("Scheduler of calls on event loops")
struct EventLoopSchedulerTests {
    private func withLoops(
        _ body: (EventLoopScheduler, any EventLoop, EventLoopExecutor) async throws -> Void
    ) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 3)
        do {
            let scheduler = try await EventLoopScheduler.start(group: group)
            // The last loop, which is never used as a fallback.
            let loop = Array(group.makeIterator())[2]
            try await body(scheduler, loop, try await loop.submit { EventLoopExecutor(on: loop) }.get())
            try await group.shutdownGracefully()
        } catch {
            try await group.shutdownGracefully()
            throw error
        }
    }

    @Test("A timer fires on the loop that set it unless it is cancelled")
    func timers() async throws {
        try await withLoops { scheduler, loop, executor in
            let isThere = await Task(executorPreference: executor) {
                let cancelled = scheduler.schedule(after: .milliseconds(1)) { Issue.record("cancelled, and rings") }
                cancelled.cancel()
                return await withCheckedContinuation { continuation in
                    _ = scheduler.schedule(after: .milliseconds(2)) { continuation.resume(returning: loop.inEventLoop) }
                }
            }.value
            #expect(isThere)
        }
    }

    @Test("A task starts synchronously and stays on its loop after every suspension")
    func tasks() async throws {
        try await withLoops { scheduler, loop, executor in
            let places = Places()
            let gate = Mutex<CheckedContinuation<Void, Never>?>(nil)
            let atOnce = await Task(executorPreference: executor) { () -> [Bool] in
                let task = scheduler.start {
                    places.add(loop.inEventLoop)
                    await withCheckedContinuation { continuation in gate.withLock { $0 = continuation } }
                    places.add(loop.inEventLoop)
                    // A suspension that a thread of the system ends.
                    for _ in 0..<2 {
                        try? await Task.sleep(nanoseconds: 1)
                        places.add(loop.inEventLoop)
                    }
                }
                // The task waits at the gate or has not started; it cannot pass before the gate opens.
                let atOnce = places.all
                guard let opened = gate.withLock({ $0 }) else { return atOnce }
                DispatchQueue.global().async { opened.resume() }
                await task.value
                return atOnce
            }.value
            #expect(atOnce == [true])
            #expect(places.all == [true, true, true, true])
        }
    }

    @Test("The request pipeline stays on its loop during authentication")
    func wholeCall() async throws {
        try await withLoops { scheduler, loop, executor in
            let late = LateAuthenticator()
            let clock = ManualClock()
            var rules = TestGateway.rules(clock: clock)
            rules.authentication = AuthenticationRules(
                deadline: .seconds(60), failedLoginDelay: .milliseconds(2), failedLoginJitter: .zero)
            rules.authenticators = AuthenticatorChain([
                .init(name: "late", credentialKinds: [.password], authenticator: late)
            ])
            let timeline = Timeline()
            let gateway = Gateway(
                rules: rules,
                dependencies: TestGateway.dependencies(
                    clock: clock, scheduler: scheduler, ledger: ScriptedLedger(timeline: timeline),
                    journal: MemoryJournal(timeline: timeline), backend: ScriptedBackend(timeline: timeline)))
            let call = Task(executorPreference: executor) {
                let answer = await gateway.serve(ReceivedRequest("GET /auth/whoami", as: "alice"))
                return (answer.status, loop.inEventLoop)
            }
            await late.untilWaiting(1)
            // A thread of the test resumes the call, which must return to its loop.
            late.respond(.rejected(.wrong))
            let (status, isThere) = await call.value
            #expect(status == 401 && isThere)
        }
    }

    @Test("The sends to an audience stay on the loop of their call")
    func audience() async throws {
        try await withLoops { scheduler, loop, executor in
            let clock = ManualClock()
            var rules = TestGateway.rules(clock: clock)
            let name = try #require(AudienceName("all"))
            rules.limiter = Limiter([], clocks: clock.clocks)
            rules.policy.send = [.init(from: .anyUser, to: .audience(name))]
            rules.policy.audiences = [name: (0..<40).compactMap { UserName(canonical: "user\($0)") }]
            let places = Places()
            let timeline = Timeline()
            let backend = ScriptedBackend(timeline: timeline) { _ in
                places.add(loop.inEventLoop)
                // Another thread responds, as a connection would. The send must continue on its loop.
                await withCheckedContinuation { continuation in
                    DispatchQueue.global().async { continuation.resume() }
                }
                places.add(loop.inEventLoop)
                return .status(200)
            }
            let gateway = Gateway(
                rules: rules,
                dependencies: TestGateway.dependencies(
                    clock: clock, scheduler: scheduler, ledger: ScriptedLedger(timeline: timeline),
                    journal: MemoryJournal(timeline: timeline), backend: backend))
            let (status, isThere) = await Task(executorPreference: executor) {
                let answer = await gateway.serve(
                    ReceivedRequest("POST /api/notifications?pns=apns&to_tag=audience:all", as: "alice", json: "\"x\""))
                return (answer.status, loop.inEventLoop)
            }.value
            #expect(status == 200 && isThere)
            #expect(places.all.count == 80 && places.all.allSatisfy(\.self))
        }
    }

    @Test("A call without a result ends at its deadline on its loop")
    func deadline() async throws {
        try await withLoops { scheduler, loop, executor in
            let late = LateAuthenticator()
            let clock = ManualClock()
            var rules = TestGateway.rules(clock: clock)
            rules.authentication.deadline = .milliseconds(5)
            rules.authenticators = AuthenticatorChain([
                .init(name: "late", credentialKinds: [.password, .bearer], authenticator: late)
            ])
            let timeline = Timeline()
            let gateway = Gateway(
                rules: rules,
                dependencies: TestGateway.dependencies(
                    clock: clock, scheduler: scheduler, ledger: ScriptedLedger(timeline: timeline),
                    journal: MemoryJournal(timeline: timeline), backend: ScriptedBackend(timeline: timeline)))
            for authorization in [ReceivedRequest.FieldValue.basic("alice", "x"), .text("Bearer x")] {
                let (status, isThere) = await Task(executorPreference: executor) {
                    let answer = await gateway.serve(
                        ReceivedRequest("GET /auth/whoami", authorization: authorization))
                    return (answer.status, loop.inEventLoop)
                }.value
                #expect(status == 503 && isThere)
            }
            late.respond(.rejected(.wrong))
        }
    }

    @Test("Calls of several loops that wait for one result each continue on their own loop")
    func sharedAnswer() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 3)
        let late = LateAuthenticator()
        let gateway = TestGateway(adjust: { rules in
            rules.authenticators = AuthenticatorChain([
                .init(name: "late", credentialKinds: [.password], authenticator: late)
            ])
        })
        let began = Places()
        var calls: [Task<(Int, Bool), Never>] = []
        for loop in group.makeIterator() {
            let executor = try await loop.submit { EventLoopExecutor(on: loop) }.get()
            for _ in 0..<3 {
                calls.append(
                    Task(executorPreference: executor) {
                        began.add(loop.inEventLoop)
                        let answer = await gateway.serve(ReceivedRequest("GET /auth/whoami", as: "alice"))
                        return (answer.status, loop.inEventLoop)
                    })
            }
        }
        await late.untilWaiting(1)
        await began.untilCount(9)
        late.respond(.accepted(Identity(user: UserName(canonical: "alice")!, authenticator: "late")))
        for call in calls {
            let (status, isThere) = await call.value
            #expect(status == 200 && isThere)
        }
        #expect(gateway.scheduler.timesScheduled == 1)
        try await group.shutdownGracefully()
    }
}

private final class Places: Sendable {
    private let seen = AwaitableValue<[Bool]>([])

    var all: [Bool] { seen.current }

    /// Returns once this many places were added.
    func untilCount(_ count: Int) async { await seen.wait { $0.count >= count } }

    func add(_ isOnLoop: Bool) { seen.withLock { $0.append(isOnLoop) } }
}
