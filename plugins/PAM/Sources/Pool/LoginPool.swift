internal import Dispatch
internal import Foundation
internal import GatewayCore
internal import Logging
internal import Synchronization

/// The workers and the queue before them: a thread a worker, each started when all others have something to do.
///
/// Callers wait without a thread. A caller whose deadline has passed is not asked about any more.
final class LoginPool: Sendable {
    private struct State {
        var queue: FairQueue<PendingLogin, LoginPlace>
        var threads = 0
        var idle = 0
        var isStopped = false
    }

    private let settings: PAMPlugin.Settings
    private let clock: @Sendable () -> MonotonicInstant
    private let logger: Logger
    private let state: Mutex<State>
    // One signal for each idle thread that is wanted; whoever signals has taken it off `idle`.
    private let wanted = DispatchSemaphore(value: 0)
    private let running = DispatchGroup()

    init(_ settings: PAMPlugin.Settings, clock: @escaping @Sendable () -> MonotonicInstant, logger: Logger) {
        self.settings = settings
        self.clock = clock
        self.logger = logger
        // Two of one address at once, but never all workers.
        let queue = FairQueue<PendingLogin, LoginPlace>(
            capacity: settings.queue, share: max(1, settings.queue / 4),
            underWayAtOnce: max(1, min(2, settings.workers - 1)))
        state = Mutex(State(queue: queue))
    }

    /// How many workers have something to do, how many have not, and how many logins wait for one.
    var load: (busy: Int, idle: Int, waiting: Int) {
        state.withLock { ($0.threads - $0.idle, $0.idle, $0.queue.count) }
    }

    /// Has a worker judge, when there is one. Resumes on the caller's executor.
    func ask(_ request: WorkerRequest, for place: LoginPlace) async -> Result<WorkerAnswer, LoginFault> {
        let deadline = MonotonicInstant(nanoseconds: clock().nanoseconds + settings.deadline.wholeNanoseconds)
        return await withCheckedContinuation { caller in
            submit(PendingLogin(request: request, deadline: deadline, caller: caller), of: place)
        }
    }

    /// Ends the workers, each when the login that it is at has ended. Who waits is answered `stopped`. The closure is called
    /// when the last has gone.
    func stop(_ whenDone: (@Sendable () -> Void)? = nil) {
        let (left, idle) = state.withLock { state in
            defer { state.idle = 0 }
            state.isStopped = true
            return (state.queue.removeAll(), state.idle)
        }
        for login in left { login.caller.resume(returning: .failure(.stopped)) }
        for _ in 0..<idle { wanted.signal() }
        if let whenDone { running.notify(queue: .global(), execute: whenDone) }
    }

    private enum Consequence { case wake, start, nothing, refuse(LoginFault) }

    private func submit(_ login: PendingLogin, of place: LoginPlace) {
        let consequence = state.withLock { state -> Consequence in
            if state.isStopped { return .refuse(.stopped) }
            guard state.queue.add(login, of: place) else { return .refuse(.busy) }
            if state.idle > 0 {
                state.idle -= 1
                return .wake
            }
            guard state.threads < settings.workers else { return .nothing }
            state.threads += 1
            return .start
        }
        switch consequence {
        case .nothing: break
        case .wake: wanted.signal()
        case .refuse(let fault): login.caller.resume(returning: .failure(fault))
        case .start:
            running.enter()
            // The thread holds the pool. `stop` ends both.
            Thread.detachNewThread {
                self.work()
                self.running.leave()
            }
        }
    }

    /// A thread's life.
    private func work() {
        var slot = WorkerSlot(settings, clock: clock)
        while true {
            let next = state.withLock { state -> (login: PendingLogin, place: LoginPlace)?? in
                if state.isStopped { return .none }
                if let next = state.queue.next() { return (next.element, next.place) }
                state.idle += 1
                return .some(nil)
            }
            switch next {
            case .none: return
            case .some(.none): wanted.wait()
            case .some(.some(let (login, place))):
                let result = judge(login, by: &slot)
                state.withLock { $0.queue.finish(place) }
                login.caller.resume(returning: result)
                Self.pause(slot.backOff.delay)
            }
        }
    }

    private func judge(_ login: PendingLogin, by slot: inout WorkerSlot) -> Result<WorkerAnswer, LoginFault> {
        guard clock() < login.deadline else { return .failure(.worker(.timedOut)) }
        do {
            let (answer, changes) = try slot.ask(login.request, until: login.deadline)
            if !changes.isEmpty {
                logger.warning("A module changed its worker, which was replaced", metadata: ["changed": "\(changes)"])
            }
            return .success(answer)
        } catch {
            logger.warning("a worker gave no answer", metadata: ["reason": "\(error.rawValue)"])
            return .failure(.worker(error))
        }
    }

    private static func pause(_ delay: Duration) {
        guard delay > .zero else { return }
        Thread.sleep(forTimeInterval: TimeInterval(delay.wholeNanoseconds) / 1_000_000_000)
    }
}

extension Duration {
    /// Settings are a minute at most, so this fits.
    fileprivate var wholeNanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
