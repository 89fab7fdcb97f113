internal import NIOPosix
internal import Synchronization

/// The thread of one sink for work that blocks: reading segments, writing files and Unix sockets.
///
/// Work that hangs stops this sink only. A cancelled task does not wait for it.
final class SinkThread: Sendable {
    private let threads: NIOThreadPool

    /// Starts the thread.
    init() {
        threads = NIOThreadPool(numberOfThreads: 1)
        threads.start()
    }

    /// Runs the work on the thread. If the task is cancelled, throws at once and leaves running work alone.
    func run<Output: Sendable>(
        _ work: @escaping @Sendable () throws(SinkFailure) -> Output
    ) async throws(SinkFailure) -> Output {
        let outcome = Outcome<Output>()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                outcome.wait(continuation)
                threads.submit { state in
                    guard state == .active else { return outcome.complete(.failure(.stopped)) }
                    outcome.complete(Result { () throws(SinkFailure) -> Output in try work() })
                }
            }
        } onCancel: {
            outcome.complete(.failure(.stopped))
        }
        return try result.get()
    }

    /// Stops the thread after its present work, without waiting for it.
    func stop() { threads.shutdownGracefully { _ in } }

    /// The result of work, which the first completion decides.
    private final class Outcome<Output: Sendable>: Sendable {
        private enum State {
            case empty
            case waiting(CheckedContinuation<Result<Output, SinkFailure>, Never>)
            case completed(Result<Output, SinkFailure>)
        }

        private let state = Mutex(State.empty)

        /// Resumes the continuation with the result, now or later. Called once.
        func wait(_ continuation: CheckedContinuation<Result<Output, SinkFailure>, Never>) {
            let result = state.withLock { state -> Result<Output, SinkFailure>? in
                switch state {
                case .completed(let result): return result
                case .empty, .waiting:
                    state = .waiting(continuation)
                    return nil
                }
            }
            if let result { continuation.resume(returning: result) }
        }

        /// Sets the result unless there is one already.
        func complete(_ result: Result<Output, SinkFailure>) {
            let continuation = state.withLock { state -> CheckedContinuation<Result<Output, SinkFailure>, Never>? in
                switch state {
                case .completed: return nil
                case .empty:
                    state = .completed(result)
                    return nil
                case .waiting(let continuation):
                    state = .completed(result)
                    return continuation
                }
            }
            continuation?.resume(returning: result)
        }
    }
}
