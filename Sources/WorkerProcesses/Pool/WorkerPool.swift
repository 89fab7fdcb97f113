internal import Dispatch
internal import Foundation
package import GatewayCore
package import GatewaySupport
package import Logging
internal import Synchronization

/// The worker processes and their queue. Each worker has a thread, started when all other threads are busy.
///
/// Callers wait without a thread. A request whose deadline has passed is not sent to a worker.
package final class WorkerPool<Query: WorkerQuery>: Sendable {
    private struct State {
        var queue: FairQueue<PendingQuery<Query>, LoginOrigin>
        var threads = 0
        var idle = 0
        var isStopped = false
    }

    private let settings: WorkerPoolSettings
    private let clock: @Sendable () -> MonotonicInstant
    private let logger: Logger
    private let state: Mutex<State>
    // Signalled once for each idle thread to wake. The signaller has already subtracted that thread from `idle`.
    private let wakeUps = DispatchSemaphore(value: 0)
    private let running = DispatchGroup()

    /// Creates a pool. The first request starts the first worker.
    package init(_ settings: WorkerPoolSettings, clock: @escaping @Sendable () -> MonotonicInstant, logger: Logger) {
        self.settings = settings
        self.clock = clock
        self.logger = logger
        // One address or user may use two workers. One worker is left for others, unless there is only one.
        let queue = FairQueue<PendingQuery<Query>, LoginOrigin>(
            capacity: settings.queue, maximumPerOrigin: max(1, settings.queue / 4),
            maximumInProgress: max(1, min(2, settings.workers - 1)), reserved: .recheck)
        state = Mutex(State(queue: queue))
    }

    /// The number of busy threads, of idle threads and of waiting requests.
    package var load: (busy: Int, idle: Int, waiting: Int) {
        state.withLock { ($0.threads - $0.idle, $0.idle, $0.queue.count) }
    }

    /// Sends a request to a worker when one is free and returns its response. Resumes on the caller's executor.
    package func query(_ request: Query, for origin: LoginOrigin) async -> Result<Query.Response, WorkerPoolError> {
        let deadline = MonotonicInstant(nanoseconds: clock().nanoseconds + settings.deadline.wholeNanoseconds)
        return await withCheckedContinuation { caller in
            submit(PendingQuery(request: request, deadline: deadline, caller: caller), of: origin)
        }
    }

    /// Stops the workers, each after its current request. Waiting requests fail with `stopped`. The closure is called
    /// after the last worker has stopped.
    package func stop(_ whenDone: (@Sendable () -> Void)? = nil) {
        let (left, idle) = state.withLock { state in
            defer { state.idle = 0 }
            state.isStopped = true
            return (state.queue.removeAll(), state.idle)
        }
        for pending in left { pending.caller.resume(returning: .failure(.stopped)) }
        for _ in 0..<idle { wakeUps.signal() }
        if let whenDone { running.notify(queue: .global(), execute: whenDone) }
    }

    private enum Consequence { case wake, start, nothing, reject(WorkerPoolError) }

    private func submit(_ pending: PendingQuery<Query>, of origin: LoginOrigin) {
        let consequence = state.withLock { state -> Consequence in
            if state.isStopped { return .reject(.stopped) }
            guard state.queue.add(pending, of: origin) else { return .reject(.busy) }
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
        case .reject(let fault): pending.caller.resume(returning: .failure(fault))
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
            let next = state.withLock { state -> (pending: PendingQuery<Query>, origin: LoginOrigin)?? in
                if state.isStopped { return .none }
                if let next = state.queue.next() { return (next.element, next.origin) }
                state.idle += 1
                return .some(nil)
            }
            switch next {
            case .none: return
            case .some(.none): wakeUps.wait()
            case .some(.some(let (pending, origin))):
                let result = serve(pending, with: &slot)
                state.withLock { $0.queue.finish(origin) }
                pending.caller.resume(returning: result)
                Self.pause(slot.backOff.delay)
            }
        }
    }

    private func serve(
        _ pending: PendingQuery<Query>, with slot: inout WorkerSlot
    ) -> Result<Query.Response, WorkerPoolError> {
        guard clock() < pending.deadline else { return .failure(.expired) }
        do {
            return .success(try slot.query(pending.request, until: pending.deadline))
        } catch {
            logger.warning(settings.failureMessage, metadata: ["reason": "\(error.rawValue)"])
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

/// A queued request and its waiting caller.
struct PendingQuery<Query: WorkerQuery>: Sendable {
    let request: Query
    let deadline: MonotonicInstant
    let caller: CheckedContinuation<Result<Query.Response, WorkerPoolError>, Never>
}

/// The reason why a request has no response.
package enum WorkerPoolError: Error, Sendable, Hashable {
    /// The queue was full.
    case busy
    /// No worker was free before the deadline. The request was sent to none.
    case expired
    /// The worker failed.
    case worker(WorkerConnectionError)
    /// The pool has been stopped.
    case stopped
}

extension OutageReason {
    /// The reason for the result of a login.
    package init(_ error: WorkerPoolError) {
        switch error {
        case .busy, .expired: self = .busy
        case .worker(.notStarted), .worker(.unsendable), .stopped: self = .unreachable
        case .worker(.timedOut): self = .timedOut
        case .worker(.ended), .worker(.garbage): self = .failed
        }
    }
}
