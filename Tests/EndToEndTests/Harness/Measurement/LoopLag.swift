import Foundation
import NIOCore
import Synchronization

/// A measurement of how late event loops run their timers. A blocked event loop runs them late.
///
/// On a machine with few processors a thread also waits for a processor. The kernel counts that time per thread
/// (schedstat, the time on a run queue). A test can therefore distinguish a blocked loop from a loop without a
/// processor.
final class LoopLag: Sendable {
    struct Ring: Sendable {
        /// The delay after the due time.
        let late: Duration
        /// The part of the delay that waiting for a processor does not explain.
        let ownFault: Duration
    }

    private let rings = Mutex<[Ring]>([])
    private let isOver = Atomic(false)
    private static let period = TimeAmount.milliseconds(1)

    /// Measures while the body runs.
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

    /// Returns the total time that this thread has waited for a processor, or zero if the kernel does not report it.
    private static func waitedForProcessor() -> Duration {
        let text = try? String(contentsOfFile: "/proc/thread-self/schedstat", encoding: .utf8)
        let fields = text?.split(separator: " ") ?? []
        return .nanoseconds(fields.count > 1 ? Int64(fields[1]) ?? 0 : 0)
    }
}
