internal import GatewayCore

/// A queued login and its waiting caller.
struct PendingLogin: Sendable {
    let request: WorkerRequest
    let deadline: MonotonicInstant
    let caller: CheckedContinuation<Result<WorkerAnswer, LoginFault>, Never>
}

/// The reason why a login was not verified.
enum LoginFault: Error, Sendable, Hashable {
    /// The queue was full.
    case busy
    /// The worker failed.
    case worker(WorkerFault)
    /// The pool has been stopped.
    case stopped
}
