public import NIOCore

/// The parts of the backend's response that the gateway uses.
public struct BackendResponse: Sendable {
    /// The status code, 200–599.
    public var status: Int
    /// The body, at most 64 KiB.
    public var body: ByteBuffer
    /// The value of the field `Location`, at most 1 KiB of visible ASCII; nil without one.
    public var location: String?
    /// The value of the field `Retry-After` in seconds; nil without one, and for a date.
    public var retryAfter: Int?
    /// The value of the field `X-MS-ContinuationToken` with which a hub's list goes on, at most 1 KiB of visible ASCII;
    /// nil without one.
    public var continuation: String?

    /// Creates a response.
    public init(status: Int, body: ByteBuffer = ByteBuffer(), location: String? = nil, retryAfter: Int? = nil) {
        self.status = status
        self.body = body
        self.location = location
        self.retryAfter = retryAfter
    }
}
