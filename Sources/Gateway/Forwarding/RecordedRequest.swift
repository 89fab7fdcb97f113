public import GatewayCore
public import NIOCore

/// One request to the backend, part of a plan that is on disk. Only the forward phase creates one.
public struct RecordedRequest: ~Copyable, Sendable {
    /// The call that the request belongs to.
    public let id: CallID
    /// The serialized HTTP/1.1 request, head and body.
    public let bytes: ByteBuffer
    /// Whether the request may be sent again on a new connection if the first one closed before a response. Never true
    /// for a send, which would notify twice.
    public let mayBeRepeated: Bool
    /// The time by which the response must be complete, on the monotonic clock.
    public let deadline: NIODeadline

    init(id: CallID, bytes: ByteBuffer, mayBeRepeated: Bool, deadline: NIODeadline) {
        self.id = id
        self.bytes = bytes
        self.mayBeRepeated = mayBeRepeated
        self.deadline = deadline
    }
}
