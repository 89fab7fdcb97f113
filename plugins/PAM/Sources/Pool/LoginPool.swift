internal import Dispatch
internal import Foundation
internal import GatewayCore
internal import GatewaySupport
internal import Logging
internal import Synchronization

/// The worker processes and their queue. Each worker has a thread, started when all other threads are busy.
///
/// Callers wait without a thread. A login whose deadline has passed is not sent to a worker.
final class LoginPool: Sendable {
    private struct State {
        var queue: FairQueue<PendingLogin, LoginOrigin>
        var threads = 0
        var idle = 0
        var isStopped = false
    }

    private let settings: PAMPlugin.Settings
    private let clock: @Sendable () -> MonotonicInstant
    private let logger: Logger
    private let state: Mutex<State>
    // Signalled once for each idle thread to wake. The signaller has already subtracted that thread from `idle`.
    private let wakeUps = DispatchSemaphore(value: 0)
    private let running = DispatchGroup()

    init(_ settings: PAMPlugin.Settings, clock: @escaping @Sendable () -> MonotonicInstant, logger: Logger) {
        self.settings = settings
        self.clock = clock
        self.logger = logger
        // One address may use two workers. One worker is left for others, unless there is only one.
        let queue = FairQueue<PendingLogin, LoginOrigin>(
            capacity: settings.queue, maximumPerOrigin: max(1, settings.queue / 4),
            maximumInProgress: max(1, min(2, settings.workers - 1)))
        state = Mutex(State(queue: queue))
    }

    /// The number of busy threads, of idle threads and of waiting logins.
    var load: (busy: Int, idle: Int, waiting: Int) {
        state.withLock { ($0.threads - $0.idle, $0.idle, $0.queue.count) }
    }

    /// Sends a request to a worker when one is free and returns its response. Resumes on the caller's executor.
    func query(_ request: WorkerRequest, for origin: LoginOrigin) async -> Result<WorkerResponse, LoginError> {
        let deadline = MonotonicInstant(nanoseconds: clock().nanoseconds + settings.deadline.wholeNanoseconds)
        return await withCheckedContinuation { caller in
            submit(PendingLogin(request: request, deadline: deadline, caller: caller), of: origin)
        }
    }

    /// Stops the workers, each after its current login. Waiting logins fail with `stopped`. The closure is called
    /// after the last worker has stopped.
    func stop(_ whenDone: (@Sendable () -> Void)? = nil) {
        let (left, idle) = state.withLock { state in
            defer { state.idle = 0 }
            state.isStopped = true
            return (state.queue.removeAll(), state.idle)
        }
        for login in left { login.caller.resume(returning: .failure(.stopped)) }
        for _ in 0..<idle { wakeUps.signal() }
        if let whenDone { running.notify(queue: .global(), execute: whenDone) }
    }

    private enum Consequence { case wake, start, nothing, reject(LoginError) }

    private func submit(_ login: PendingLogin, of origin: LoginOrigin) {
        let consequence = state.withLock { state -> Consequence in
            if state.isStopped { return .reject(.stopped) }
            guard state.queue.add(login, of: origin) else { return .reject(.busy) }
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
        case .wake: wakeUps.signal()
        case .reject(let fault): login.caller.resume(returning: .failure(fault))
        case .start:
            running.enter()
            // The thread keeps the pool alive until `stop` is called.
            Thread.detachNewThread {
                self.work()
                self.running.leave()
            }
        }
    }

    /// The main loop of a worker thread.
    private func work() {
        var slot = WorkerSlot(settings, clock: clock)
        while true {
            let next = state.withLock { state -> (login: PendingLogin, origin: LoginOrigin)?? in
                if state.isStopped { return .none }
                if let next = state.queue.next() { return (next.element, next.origin) }
                state.idle += 1
                return .some(nil)
            }
            switch next {
            case .none: return
            case .some(.none): wakeUps.wait()
            case .some(.some(let (login, origin))):
                let result = verify(login, with: &slot)
                state.withLock { $0.queue.finish(origin) }
                login.caller.resume(returning: result)
                Self.pause(slot.backOff.delay)
            }
        }
    }

    private func verify(_ login: PendingLogin, with slot: inout WorkerSlot) -> Result<WorkerResponse, LoginError> {
        guard clock() < login.deadline else { return .failure(.worker(.timedOut)) }
        do {
            let (answer, changes) = try slot.query(login.request, until: login.deadline)
            if !changes.isEmpty {
                logger.warning("PAM module changed its worker, worker replaced", metadata: ["changed": "\(changes)"])
            }
            return .success(answer)
        } catch {
            logger.warning("PAM worker failed", metadata: ["reason": "\(error.rawValue)"])
            return .failure(.worker(error))
        }
    }

    private static func pause(_ delay: Duration) {
        guard delay > .zero else { return }
        Thread.sleep(forTimeInterval: TimeInterval(delay.wholeNanoseconds) / 1_000_000_000)
    }
}

extension Duration {
    /// The duration in nanoseconds. A configured duration is at most a minute, so the product cannot overflow.
    fileprivate var wholeNanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}

/// A queued login and its waiting caller.
struct PendingLogin: Sendable {
    let request: WorkerRequest
    let deadline: MonotonicInstant
    let caller: CheckedContinuation<Result<WorkerResponse, LoginError>, Never>
}

/// The reason why a login was not verified.
enum LoginError: Error, Sendable, Hashable {
    /// The queue was full.
    case busy
    /// The worker failed.
    case worker(WorkerConnectionError)
    /// The pool has been stopped.
    case stopped
}

/// The source of a login, for fair sharing of the workers.
enum LoginOrigin: Hashable, Sendable {
    /// A client address, truncated as rate limits count it.
    case address(Peer.Address)
    /// The gateway itself, which rechecks accounts.
    case gateway
}
