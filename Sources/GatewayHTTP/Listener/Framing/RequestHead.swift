internal import GatewayCore

/// The parts of a request's head that the gateway uses, as ranges in the bytes of the head.
struct RequestHead {
    /// The method; nil if no route supports it.
    var method: HTTPMethod?
    /// Whether the method is HEAD. No route supports it, but its response must have no body.
    var isHead = false
    /// False only for HTTP/1.0. It stays true for HTTP/2, where it has no meaning.
    var isVersion11 = true
    /// The path without the query. It is empty for an absolute-form target without a path, which is equivalent to `/`.
    var path = 0..<0
    /// The query after the first `?`.
    var query: Range<Int>?
    /// The authority of an absolute-form target. For HTTP/2, `:authority` if the request also has `Host`.
    var authority: Range<Int>?
    /// Whether the scheme of an absolute-form target, or `:scheme` of HTTP/2, is https, whose default port differs from
    /// that of http.
    var schemeIsHTTPS = false
    /// The value of `Host`, already checked against the host grammar. For HTTP/2 without `Host`, the value of
    /// `:authority`.
    var host: Range<Int>?
    /// The value of `Content-Length`, not yet compared with the limit.
    var contentLength: Int?
    /// Whether the body uses the chunked transfer coding.
    var isChunked = false
    /// Whether `Connection` contains `close`.
    var hasCloseOption = false
    /// Whether `Connection` contains `keep-alive`.
    var hasKeepAliveOption = false
    /// The value of `Expect`.
    var expectation = Expectation.none
    /// The `Authorization` field.
    var authorization = Occurrence.absent
    /// The `Content-Type` field.
    var contentType = Occurrence.absent
    /// The `Content-Encoding` field.
    var contentEncoding = Occurrence.absent
    /// The `Idempotency-Key` field.
    var idempotencyKey = Occurrence.absent
    /// The forwarding fields; nil if the peer is not a trusted proxy.
    var forwarding: ForwardingFields?
    /// The trace context; nil if the peer is not a trusted proxy.
    var trace: TraceFields?

    /// Creates an empty head.
    ///
    /// - Parameter trustedProxy: How the proxy reports the client's address (a header field or the PROXY protocol) if
    ///   the peer is a trusted proxy; nil if it is not.
    init(trustedProxy source: TrustedProxies.Source? = nil) {
        forwarding = source.map(ForwardingFields.init)
        trace = source.map { _ in TraceFields() }
    }

    /// Whether forwarding fields and trace fields are read, because the peer is trusted.
    var isTrusted: Bool { forwarding != nil || trace != nil }

    /// The occurrence of a field that may occur at most once.
    enum Occurrence: Equatable {
        case absent
        case single(Range<Int>)
        case repeated

        /// Adds a line. Returns whether the range of its value is stored.
        @discardableResult
        mutating func add(_ value: Range<Int>) -> Bool {
            switch self {
            case .absent:
                self = .single(value)
                return true
            case .single, .repeated:
                self = .repeated
                return false
            }
        }
    }

    /// The expectation of the client (RFC 9110, section 10.1.1).
    enum Expectation {
        case none, continue100, unknown
    }

    /// Whether the client keeps the connection open for further requests (RFC 9112, section 9.3).
    var keepsAlive: Bool { !hasCloseOption && (isVersion11 || hasKeepAliveOption) }

    /// Whether a body follows.
    var hasBody: Bool { isChunked || (contentLength ?? 0) > 0 }
}

/// The trace context of a request (W3C Trace Context), as ranges in the head. It is read only from trusted peers.
struct TraceFields {
    /// The range of `traceparent`.
    private(set) var parent = RequestHead.Occurrence.absent
    /// The ranges of all `tracestate` lines in order. Together they form one list (RFC 9110, section 5.3).
    private(set) var states: [Range<Int>] = []

    /// Stores the field if it is a trace field. Its value is not validated here, because an invalid trace context never
    /// rejects a request.
    mutating func process(_ field: RequestField, _ value: Range<Int>) {
        switch field {
        case .traceparent: parent.add(value)
        case .tracestate: states.append(value)
        default: break
        }
    }
}
