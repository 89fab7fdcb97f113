internal import GatewayCore
package import GatewayOperations
package import GatewaySupport
internal import Synchronization

/// The verification of the journal that the console shows: at most one at a time, and the result of the latest one.
package final class RunningVerification: Sendable {
    /// The state of the verification.
    enum State: Sendable {
        /// No verification has begun since the start of the gateway.
        case none
        /// The bytes that were read so far, and all bytes.
        case running(done: UInt64, total: UInt64)
        /// The result, as the operator API returns it, and its time.
        case complete(JSONValue, WallTime)
        /// The reason why the journal could not be verified.
        case failed(String)
    }

    private let current = Mutex(State.none)
    private let operations: ControlOperations
    private let verifier: JournalVerifier
    private let clocks: Clocks

    /// Creates the state before the first verification.
    ///
    /// - Parameter verifier: The verifier of the operation `journal verify`, for its progress.
    package init(_ operations: ControlOperations, _ verifier: JournalVerifier, clocks: Clocks) {
        self.operations = operations
        self.verifier = verifier
        self.clocks = clocks
    }

    /// The present state.
    var state: State {
        let state = current.withLock(\.self)
        if case .running = state, let progress = verifier.progress {
            return .running(done: progress.done, total: progress.total)
        }
        return state
    }

    /// Starts a verification in the background. Has no effect while one is running.
    func start(by requester: Operator) {
        let isStarted = current.withLock { state in
            if case .running = state { return false }
            state = .running(done: 0, total: 0)
            return true
        }
        guard isStarted else { return }
        Task {
            let results = await operations.results(of: ControlRequest("journal verify"), by: requester)
            current.withLock { state in
                if let error = results.error {
                    state = .failed(error.reason)
                } else {
                    state = .complete(results.items.first ?? .null, clocks.wall())
                }
            }
        }
    }
}
