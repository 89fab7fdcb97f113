public import NIOPosix
internal import Synchronization

/// A few threads for work that blocks, with a bounded queue before them.
///
/// A call that waits here resumes on its own event loop.
public final class BlockingPool: Sendable {
    /// The queue is full, or the pool has been shut down; the work was not done.
    public struct Unavailable: Error {}

    private let threads: NIOThreadPool
    private let capacity: Int
    private let held = Atomic<Int>(0)

    /// A pool on threads that the caller starts and shuts down.
    ///
    /// - Parameter capacity: how much work may be waiting or under way at once.
    public init(threads: NIOThreadPool, capacity: Int) {
        self.threads = threads
        self.capacity = capacity
    }

    /// Does the work on one of the threads.
    public func run<Result: Sendable>(_ work: @escaping @Sendable () -> Result) async throws(Unavailable) -> Result {
        guard held.add(1, ordering: .relaxed).newValue <= capacity else {
            held.subtract(1, ordering: .relaxed)
            throw Unavailable()
        }
        defer { held.subtract(1, ordering: .relaxed) }
        do { return try await threads.runIfActive(work) } catch { throw Unavailable() }
    }
}
