internal import GatewaySupport

/// A queued login and its waiting caller.
struct PendingLogin: Sendable {
    let request: WorkerRequest
    let deadline: MonotonicInstant
    let caller: CheckedContinuation<Result<WorkerResponse, LoginError>, Never>
}

/// The reason why a login was not verified.
enum LoginError: Error, Sendable, Hashable {
    /// The queue was full.
    case busy
    /// The worker failed.
    case worker(WorkerConnectionError)
    /// The pool has been stopped.
    case stopped
}
