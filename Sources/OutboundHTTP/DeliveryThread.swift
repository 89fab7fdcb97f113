internal import NIOPosix
internal import Synchronization

/// The thread of one receiver for work that blocks: reading files, writing files and Unix sockets.
///
/// Work that hangs stops deliveries to this receiver only. A cancelled task does not wait for it.
package final class DeliveryThread: Sendable {
    private let threads: NIOThreadPool

    /// Starts the thread.
    package init() {
        threads = NIOThreadPool(numberOfThreads: 1)
        threads.start()
    }

    /// Runs the work on the thread. If the task is cancelled, throws at once and leaves running work alone.
    package func run<Output: Sendable>(
        _ work: @escaping @Sendable () throws(DeliveryFailure) -> Output
    ) async throws(DeliveryFailure) -> Output {
        let outcome = Outcome<Output>()
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                outcome.wait(continuation)
                threads.submit { state in
                    guard state == .active else { return outcome.complete(.failure(.stopped)) }
                    outcome.complete(Result { () throws(DeliveryFailure) -> Output in try work() })
                }
            }
        } onCancel: {
            outcome.complete(.failure(.stopped))
        }
        return try result.get()
    }

    /// Stops the thread after its present work, without waiting for it.
    package func stop() { threads.shutdownGracefully { _ in } }

    /// The result of work, which the first completion decides.
    private final class Outcome<Output: Sendable>: Sendable {
        private enum State {
            case empty
            case waiting(CheckedContinuation<Result<Output, DeliveryFailure>, Never>)
            case completed(Result<Output, DeliveryFailure>)
        }

        private let state = Mutex(State.empty)

        /// Resumes the continuation with the result, now or later. Called once.
        func wait(_ continuation: CheckedContinuation<Result<Output, DeliveryFailure>, Never>) {
            let result = state.withLock { state -> Result<Output, DeliveryFailure>? in
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
        func complete(_ result: Result<Output, DeliveryFailure>) {
            let continuation = state.withLock { state -> CheckedContinuation<Result<Output, DeliveryFailure>, Never>? in
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
