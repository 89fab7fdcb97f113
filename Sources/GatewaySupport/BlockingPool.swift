public import NIOPosix
internal import Synchronization

/// A small thread pool for blocking work, with a bounded queue.
///
/// A call that awaits the pool resumes on its own event loop.
public final class BlockingPool: Sendable {
    /// The error that the queue is full or the pool is shut down. The work did not run.
    public struct Unavailable: Error {}

    private let threads: NIOThreadPool
    private let capacity: Int
    private let held = Atomic<Int>(0)

    /// Creates a pool on threads that the caller starts and shuts down.
    ///
    /// - Parameter capacity: The maximum number of work items that are queued or running.
    public init(threads: NIOThreadPool, capacity: Int) {
        self.threads = threads
        self.capacity = capacity
    }

    /// Runs the work on one of the threads.
    public func run<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async throws(Unavailable) -> Result {
        guard held.add(1, ordering: .relaxed).newValue <= capacity else {
            held.subtract(1, ordering: .relaxed)
            throw Unavailable()
        }
        defer { held.subtract(1, ordering: .relaxed) }
        do { return try await threads.runIfActive(work) } catch { throw Unavailable() }
    }
}
