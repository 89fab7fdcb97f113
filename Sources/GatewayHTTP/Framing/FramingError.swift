internal import GatewayCore

/// A violation of HTTP syntax or of a size limit. No byte that follows it on the connection is interpreted.
package struct FramingError: Error, Equatable {
    /// The code that selects the response to the client.
    var code: RejectionCode
    /// The description for the log. It is a constant and contains no byte from the peer.
    package var detail: String
    /// Whether an HTTP/2 stream is reset with `PROTOCOL_ERROR` instead of a response, because its field section is no
    /// HTTP message (RFC 9113, section 8.1.1).
    var resetsStream = false

    /// Returns a fault with the code `malformed-request`.
    static func malformed(_ detail: String) -> FramingError {
        FramingError(code: .malformedRequest, detail: detail)
    }

    /// Returns a fault for an HTTP/2 field section that is no HTTP message.
    static func malformedFields(_ detail: String) -> FramingError {
        FramingError(code: .malformedRequest, detail: detail, resetsStream: true)
    }
}

extension Rejection {
    /// Creates the rejection for a fault. A fault that is over in a moment allows a retry after one second.
    init(_ fault: FramingError) {
        let isTemporary = fault.code == .overloaded || fault.code == .rateLimited
        self.init(fault.code, fault.detail, extra: isTemporary ? .retryAfter(seconds: 1) : nil)
    }
}
