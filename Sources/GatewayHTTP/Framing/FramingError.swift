internal import GatewayCore

/// Bytes that are no HTTP/1.1 message, or one beyond the limits. Nothing after them on the connection is interpreted.
package struct FramingError: Error, Equatable {
    /// What a client is told of it.
    var code: RejectionCode
    /// For the log alone; a constant, no byte of the peer is in it.
    package var detail: String
    /// Whether an HTTP/2 stream is reset with `PROTOCOL_ERROR` instead of a response: its field section is no HTTP message
    /// (RFC 9113, section 8.1.1).
    var resetsStream = false

    /// A breach of the grammar: `malformed-request`.
    static func malformed(_ detail: String) -> FramingError {
        FramingError(code: .malformedRequest, detail: detail)
    }

    /// A field section of HTTP/2 that is no HTTP message.
    static func malformedFields(_ detail: String) -> FramingError {
        FramingError(code: .malformedRequest, detail: detail, resetsStream: true)
    }
}

extension Rejection {
    /// The refusal of what is no request, or of one that there is no memory for.
    init(_ fault: FramingError) {
        self.init(fault.code, fault.detail, extra: fault.code == .overloaded ? .retryAfter(seconds: 1) : nil)
    }
}
