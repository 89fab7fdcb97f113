import Foundation
import NIOCore
import Synchronization

/// How late timers ring on event loops: a loop that is held up by anything rings late.
///
/// On a machine with few processors a thread also waits for one to be free. The kernel counts that by thread (schedstat, the
/// time spent on a run queue), so that a test can tell a loop that was held up from one that was not given a processor.
final class LoopLag: Sendable {
    struct Ring: Sendable {
        /// After its time.
        let late: Duration
        /// The part of it that is not explained by waiting for a processor.
        let ownFault: Duration
    }

    private let rings = Mutex<[Ring]>([])
    private let isOver = Atomic(false)
    private static let period = TimeAmount.milliseconds(1)

    /// Looks on while the body runs.
    static func measure<Result>(
        on loops: [any EventLoop], _ body: () async throws -> Result
    ) async throws -> (Result, [Ring]) {
        let lag = LoopLag()
        for loop in loops { loop.execute { lag.schedule(on: loop, waited: waitedForProcessor()) } }
        defer { lag.isOver.store(true, ordering: .relaxed) }
        let result = try await body()
        return (result, lag.rings.withLock { $0 })
    }

    private func schedule(on loop: any EventLoop, waited before: Duration) {
        let due = NIODeadline.now() + Self.period
        loop.scheduleTask(deadline: due) { [self] in
            let late = Duration.nanoseconds((NIODeadline.now() - due).nanoseconds)
            let waited = Self.waitedForProcessor()
            rings.withLock { $0.append(Ring(late: late, ownFault: max(.zero, late - (waited - before)))) }
            if !isOver.load(ordering: .relaxed) { schedule(on: loop, waited: waited) }
        }
    }

    /// How long this thread has been ready and without a processor, ever; zero where the kernel does not say.
    private static func waitedForProcessor() -> Duration {
        let text = try? String(contentsOfFile: "/proc/thread-self/schedstat", encoding: .utf8)
        let fields = text?.split(separator: " ") ?? []
        return .nanoseconds(fields.count > 1 ? Int64(fields[1]) ?? 0 : 0)
    }
}
