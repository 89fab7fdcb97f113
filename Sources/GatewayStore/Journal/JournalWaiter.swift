internal import Dispatch
internal import GatewayCore
internal import NIOCore
internal import NIOPosix

/// Somebody who waits until records are on disk. By reference: it goes through lists.
final class JournalWaiter: Sendable {
    typealias Answer = Result<Void, JournalUnavailable>

    let continuation: CheckedContinuation<Answer, Never>
    /// The event loop that the records come from, where it is one.
    private let loop: (any EventLoop)?

    /// Whoever calls this.
    init(_ continuation: CheckedContinuation<Answer, Never>) {
        self.continuation = continuation
        loop = MultiThreadedEventLoopGroup.currentEventLoop
    }

    /// Wakes the writer; on an event loop when its turn is over, so that what else comes in that turn is of the same batch and
    /// wakes nobody.
    func wake(_ writer: DispatchSemaphore) {
        guard let loop else {
            writer.signal()
            return
        }
        loop.execute { writer.signal() }
    }

    /// Tells all who wait for the items, each event loop in one go: to resume them one by one from here would be a closure and
    /// a lock of the loop's each.
    static func tell(_ answer: Answer, to items: some Sequence<JournalQueue.Item>) {
        var loops: [(loop: any EventLoop, continuations: [CheckedContinuation<Answer, Never>])] = []
        for item in items {
            guard let waiter = item.waiter else { continue }
            guard let loop = waiter.loop else {
                waiter.continuation.resume(returning: answer)
                continue
            }
            if let place = loops.firstIndex(where: { $0.loop === loop }) {
                loops[place].continuations.append(waiter.continuation)
            } else {
                loops.append((loop, [waiter.continuation]))
            }
        }
        for (loop, continuations) in loops {
            loop.execute { for continuation in continuations { continuation.resume(returning: answer) } }
        }
    }
}
