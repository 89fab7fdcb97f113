/// Why a worker gave no answer.
enum WorkerFault: String, Error, Sendable {
    /// None could be started, or the worker service not be reached.
    case notStarted = "not-started"
    /// It ended in the middle of the login.
    case ended
    /// It had not answered when the caller's deadline passed.
    case timedOut = "timed-out"
    /// It answered with something that is no answer to the request.
    case garbage
    /// The request does not fit a packet.
    case unsendable
}
