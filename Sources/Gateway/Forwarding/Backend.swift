public import NIOCore

/// The backend as the way of a call sees it: something that takes one recorded request and says what became of it.
///
/// `GatewayHTTP` implements it with a pool of connections per event loop; the test kit scripts it.
public protocol Backend: Sendable {
    /// Sends the request once and waits for the answer, up to the request's deadline.
    ///
    /// Called on the event loop of the call, returns on the same loop. Never throws and is never cancelled: whatever
    /// happens is an answer. A request that is not `mayBeRepeated` is put on the wire at most once.
    func exchange(_ request: borrowing RecordedRequest) async -> BackendAnswer

    /// Whether one more request would be answered `.overloaded` at once, as far as can be told. Asked on the event loop of a call
    /// before anything is decided; never waits.
    var isFull: Bool { get }
}

extension Backend {
    /// Never.
    public var isFull: Bool { false }
}

/// What became of one request to the backend.
public enum BackendAnswer: Sendable {
    /// A complete answer came.
    case answered(BackendResponse)
    /// No connection could be made; not a byte of the request left.
    case unreachable(String)
    /// The connection broke, or what came was not HTTP or too long; the backend may have acted.
    case broken(String)
    /// The deadline passed; the backend may have acted, or may yet.
    case timedOut
    /// The gateway stopped before the answer came; the backend may have acted, or may yet.
    case cutOff
    /// The backend could not be reached again and again, and is left alone for a moment; not a byte of the request left.
    case suspended
    /// All connections are in use and the queue before them is full; not a byte of the request left.
    case overloaded
}

/// The backend's answer, as far as anything of it is looked at.
public struct BackendResponse: Sendable {
    /// The status code, 200–599.
    public var status: Int
    /// The body, of at most 64 KiB.
    public var body: ByteBuffer

    /// A response from its parts.
    public init(status: Int, body: ByteBuffer = ByteBuffer()) {
        self.status = status
        self.body = body
    }
}
