internal import GatewayCore

/// What is kept of a request's head: the few things that decide anything, as places in the head's bytes.
struct RequestHead {
    /// The method, or nil where no route knows it.
    var method: HTTPMethod?
    /// Whether the method is HEAD: no route knows it, and its answer has no body.
    var isHead = false
    /// Whether the version is HTTP/1.1; else it is HTTP/1.0.
    var isVersion11 = true
    /// From `/` up to the query. Empty where an absolute-form target has no path; that stands for `/`.
    var path = 0..<0
    /// Behind the first `?`.
    var query: Range<Int>?
    /// The authority of an absolute-form target.
    var authority: Range<Int>?
    /// Whether the scheme beside that authority is https, whose default port is another one than that of http.
    var schemeIsHTTPS = false
    /// `Host`, checked.
    var host: Range<Int>?
    /// `Content-Length`, checked; not yet held against the limit.
    var contentLength: Int?
    /// Whether the body comes in chunks.
    var isChunked = false
    /// Whether `Connection` holds `close`.
    var asksToClose = false
    /// Whether `Connection` holds `keep-alive`.
    var asksToKeep = false
    /// What `Expect` asks for.
    var expectation = Expectation.none
    /// `Authorization`.
    var authorization = Occurrence.absent
    /// `Content-Type`.
    var contentType = Occurrence.absent
    /// `Content-Encoding`.
    var contentEncoding = Occurrence.absent
    /// `Idempotency-Key`.
    var idempotencyKey = Occurrence.absent
    /// For whom a proxy speaks; nil where the peer is none that is believed.
    var forwarding: ForwardingFields?
    /// Which trace the request belongs to; nil where the peer is none that is believed.
    var trace: TraceFields?

    /// Nothing yet.
    ///
    /// - Parameter trustedProxy: by what the peer is believed; nil where it is not.
    init(trustedProxy source: TrustedProxies.Source? = nil) {
        forwarding = source.map(ForwardingFields.init)
        trace = source.map { _ in TraceFields() }
    }

    /// Whether fields count that say for whom a peer speaks, or to which trace a request belongs.
    var isTrusted: Bool { forwarding != nil || trace != nil }

    /// How often a field that may be there once is there.
    enum Occurrence: Equatable {
        case absent
        case single(Range<Int>)
        case repeated

        /// Adds a line. Says whether the place of its value is kept.
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

    /// What `Expect` asks for (RFC 9110, section 10.1.1).
    enum Expectation {
        case none, continueFirst, unknown
    }

    /// Whether the client wants to send more on the connection (RFC 9112, section 9.3).
    var keepsAlive: Bool { !asksToClose && (isVersion11 || asksToKeep) }

    /// Whether a body follows.
    var hasBody: Bool { isChunked || (contentLength ?? 0) > 0 }
}
