public import GatewayCore
public import NIOCore

/// One request to the backend, of a plan that is on disk. Only the forwarding of a recorded plan makes one.
public struct RecordedRequest: ~Copyable, Sendable {
    /// The call that it belongs to.
    public let id: CallID
    /// The HTTP/1.1 request as bytes, head and body, ready for the wire.
    public let bytes: ByteBuffer
    /// Whether it may be sent once more on a new connection if the first died before an answer. Never so for a send:
    /// a repeated send notifies twice.
    public let mayBeRepeated: Bool
    /// Until when the answer must be complete, on the monotonic clock.
    public let deadline: NIODeadline

    init(id: CallID, bytes: ByteBuffer, mayBeRepeated: Bool, deadline: NIODeadline) {
        self.id = id
        self.bytes = bytes
        self.mayBeRepeated = mayBeRepeated
        self.deadline = deadline
    }
}
