internal import GatewayCore

/// The parts of a request's head that the gateway uses, as ranges in the bytes of the head.
struct RequestHead {
    /// The method; nil if no route supports it.
    var method: HTTPMethod?
    /// Whether the method is HEAD. No route supports it, but its response must have no body.
    var isHead = false
    /// Whether the version is HTTP/1.1; otherwise it is HTTP/1.0.
    var isVersion11 = true
    /// The path without the query. It is empty for an absolute-form target without a path, which is equivalent to `/`.
    var path = 0..<0
    /// The query after the first `?`.
    var query: Range<Int>?
    /// The authority of an absolute-form target.
    var authority: Range<Int>?
    /// Whether the scheme of that target is https, which has a different default port than http.
    var schemeIsHTTPS = false
    /// The value of `Host`, which matches the host grammar.
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
    /// - Parameter trustedProxy: The source of client addresses if the peer is a trusted proxy; nil if it is not.
    init(trustedProxy source: TrustedProxies.Source? = nil) {
        forwarding = source.map(ForwardingFields.init)
        trace = source.map { _ in TraceFields() }
    }

    /// Whether forwarding fields and trace fields are read, because the peer is trusted.
    var isTrusted: Bool { forwarding != nil || trace != nil }

    /// The occurrences of a field that may occur once.
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
