/// The reason why a worker sent no valid response.
enum WorkerConnectionError: String, Error, Sendable {
    /// The worker could not be started, or the worker service could not be reached.
    case notStarted = "not-started"
    /// The connection closed during the login.
    case ended
    /// The deadline passed before the response.
    case timedOut = "timed-out"
    /// The response was malformed, or did not belong to the request.
    case garbage
    /// The request does not fit in a packet.
    case unsendable
}
