internal import GatewayCore

/// A login with somebody who waits for its answer.
struct PendingLogin: Sendable {
    let request: WorkerRequest
    let deadline: MonotonicInstant
    let caller: CheckedContinuation<Result<WorkerAnswer, LoginFault>, Never>
}

/// Why a login was not judged.
enum LoginFault: Error, Sendable, Hashable {
    /// There was no room to wait.
    case busy
    /// The worker failed.
    case worker(WorkerFault)
    /// The authenticator is being stopped.
    case stopped
}
