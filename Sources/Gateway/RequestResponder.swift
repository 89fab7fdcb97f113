public import GatewayCore
public import NIOCore

/// The interface by which the listener calls the request pipeline. `Gateway` implements it; tests substitute other
/// implementations.
public protocol RequestResponder: Sendable {
    /// Processes one call. Runs on the event loop from which it is called, never throws and is never cancelled.
    ///
    /// - Parameter request: The request, which the caller does not keep: its body is released as soon as it is parsed.
    func serve(_ request: consuming ReceivedRequest) async -> Response
    /// Returns the response to a request that the listener rejects itself: it is not valid HTTP, or too many calls are
    /// in flight. No part of the request is interpreted.
    func reject(_ rejection: Rejection, id: CallID) -> Response
    /// Returns whether the path belongs to a call that needs the backend. Called only while the in-flight limit is
    /// exhausted, because calls that do not need the backend may then still be admitted, from a reserve.
    func needsBackend(_ path: ByteBuffer) -> Bool
}

/// The response to a client. The listener adds only `Date`, `Content-Length`, `X-Request-Id` and `Connection`.
public struct Response: Sendable, Hashable {
    /// The status code.
    public var status: Int
    /// The `Content-Type`; nil if there is no body.
    public var contentType: String?
    /// Further header fields, in order. The gateway creates names and values itself; they contain no unescaped bytes
    /// received from a peer.
    public var fields: [Field]
    /// The body.
    public var body: [UInt8]
    /// The reason of a rejection, for metrics; nil if the call was carried out. Not sent.
    public internal(set) var rejection: RejectionCode?

    /// One header field.
    public struct Field: Sendable, Hashable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String

        /// Creates a field. Name and value must be trusted.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Creates a response.
    public init(status: Int, contentType: String? = nil, fields: [Field] = [], body: [UInt8] = []) {
        self.status = status
        self.contentType = contentType
        self.fields = fields
        self.body = body
    }
}
