internal import GatewayCore

/// Bytes that are no HTTP/1.1 message, or one beyond the limits. Nothing after them on the connection is interpreted.
package struct FramingError: Error, Equatable {
    /// What a client is told of it.
    var code: RejectionCode
    /// For the log alone; a constant, no byte of the peer is in it.
    package var detail: String

    /// A breach of the grammar: `malformed-request`.
    static func malformed(_ detail: String) -> FramingError {
        FramingError(code: .malformedRequest, detail: detail)
    }
}

extension Rejection {
    /// The refusal of what is no request, or of one that there is no memory for.
    init(_ fault: FramingError) {
        self.init(fault.code, fault.detail, extra: fault.code == .overloaded ? .retryAfter(seconds: 1) : nil)
    }
}
