public import GatewayCore
public import NIOCore

/// The backend as the request pipeline sees it: sends one recorded request and reports the result.
///
/// `GatewayHTTP` implements it with a connection pool for each event loop; the test kit has a scripted one.
public protocol Backend: Sendable {
    /// Sends the request and waits for the response until the request's deadline.
    ///
    /// Called on the call's event loop, and resumes on it. A request that has waited is written only if
    /// `RecordedRequest.caller` has no withdrawal right before its first byte. Never throws and is never cancelled; every failure is a
    /// returned value. A request that is not `isRetryable` is sent at most once.
    func exchange(_ request: borrowing RecordedRequest) async -> BackendResult

    /// Whether a further request would probably get `.overloaded` at once. Read on the call's event loop right after
    /// parsing, before authentication; never waits.
    var isFull: Bool { get }
}

extension Backend {
    /// The default: never full.
    public var isFull: Bool { false }
}

/// The result of one request to the backend.
public enum BackendResult: Sendable {
    /// A complete response arrived.
    case responded(BackendResponse)
    /// No connection could be opened. No byte of the request was sent.
    case unreachable(String)
    /// The connection closed early, or the response was not valid HTTP or too long. The backend may have acted.
    case broken(String)
    /// The deadline passed. The backend may have acted, or may act later.
    case timedOut
    /// The gateway stopped before the response arrived. The backend may have acted, or may act later.
    case gatewayStopped
    /// The circuit breaker is open because the backend was unreachable repeatedly. No byte of the request was sent.
    case circuitOpen
    /// All connections are in use and the queue is full. No byte of the request was sent.
    case overloaded
    /// The caller was revoked before the request was written. No byte of the request was sent.
    case withdrawn(CallerWithdrawal)
}

/// One request to the backend, part of a plan that is on disk. Only the forward phase creates one.
public struct RecordedRequest: ~Copyable, Sendable {
    /// The call that the request belongs to.
    public let id: CallID
    /// The serialized HTTP/1.1 request, head and body.
    public let bytes: ByteBuffer
    /// Whether the request may be sent again on a new connection if the first one closed before a response. Never true
    /// for a send, which would notify twice.
    public let isRetryable: Bool
    /// The time by which the response must be complete, on the monotonic clock.
    public let deadline: NIODeadline
    /// Checks whether the request may still be written; nil if a revocation does not stop it.
    public let caller: CallerRevocationCheck?

    init(
        id: CallID, bytes: ByteBuffer, isRetryable: Bool, deadline: NIODeadline, caller: CallerRevocationCheck? = nil
    ) {
        self.caller = caller
        self.id = id
        self.bytes = bytes
        self.isRetryable = isRetryable
        self.deadline = deadline
    }
}
