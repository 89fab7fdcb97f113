internal import Dispatch
internal import GatewayCore
internal import NIOCore
internal import NIOPosix

/// A caller that waits until its records are on disk. A class, so that moving waiters between lists is cheap.
final class JournalWaiter: Sendable {
    typealias Outcome = Result<Void, JournalUnavailable>

    let continuation: CheckedContinuation<Outcome, Never>
    /// The event loop of the caller; nil outside of one.
    private let loop: (any EventLoop)?

    /// Creates a waiter for the calling task.
    init(_ continuation: CheckedContinuation<Outcome, Never>) {
        self.continuation = continuation
        loop = MultiThreadedEventLoopGroup.currentEventLoop
    }

    /// Wakes the writer. On an event loop the wake-up is deferred to the end of the current tick, so that all records
    /// of the tick join one batch and wake the writer once.
    func wake(_ writer: DispatchSemaphore) {
        guard let loop else {
            writer.signal()
            return
        }
        loop.execute { writer.signal() }
    }

    /// Resumes the callers of the items. All callers of one event loop resume in one task of that loop, because a task
    /// each would cost a closure and a lock each.
    static func resume(_ outcome: Outcome, for items: some Sequence<JournalQueue.Item>) {
        var loops: [(loop: any EventLoop, continuations: [CheckedContinuation<Outcome, Never>])] = []
        for item in items {
            guard let waiter = item.waiter else { continue }
            guard let loop = waiter.loop else {
                waiter.continuation.resume(returning: outcome)
                continue
            }
            if let index = loops.firstIndex(where: { $0.loop === loop }) {
                loops[index].continuations.append(waiter.continuation)
            } else {
                loops.append((loop, [waiter.continuation]))
            }
        }
        for (loop, continuations) in loops {
            loop.execute { for continuation in continuations { continuation.resume(returning: outcome) } }
        }
    }
}
