/// The spans of one sampled call: the call itself, its phases, and its requests to backends.
///
/// It says in the gateway's terms what happened. An exporter translates it into its protocol. It contains no user, no
/// tag, no message, no credential and no part of a path that a client chose.
public struct CallSpans: Sendable, Hashable {
    /// The trace, with the parent of the call's span.
    public let trace: TraceContext
    /// The id of the call, which the journal has too.
    public let call: CallID
    /// The spans, that of the call first.
    public let spans: [TraceSpan]

    /// Creates the spans of a call.
    public init(trace: TraceContext, call: CallID, spans: [TraceSpan]) {
        self.trace = trace
        self.call = call
        self.spans = spans
    }
}

/// One timed operation of a call.
public struct TraceSpan: Sendable, Hashable {
    /// The id within the trace; never 0.
    public let id: UInt64
    /// The id of the enclosing span; 0 if there is none.
    public let parent: UInt64
    /// The start, in nanoseconds since 1970.
    public let start: Int64
    /// The end, in nanoseconds since 1970; not before `start`.
    public var end: Int64
    /// The operation.
    public var subject: Subject

    /// The operation of a span.
    public enum Subject: Sendable, Hashable {
        /// The whole call.
        case call(CallSpan)
        /// A phase of the request pipeline, by the name that metrics use.
        case phase(String)
        /// A request to a backend.
        case upstreamRequest(UpstreamRequestSpan)
    }

    /// Creates a span.
    public init(id: UInt64, parent: UInt64, start: Int64, end: Int64, subject: Subject) {
        self.id = id
        self.parent = parent
        self.start = start
        self.end = end
        self.subject = subject
    }
}

/// The span of a whole call.
public struct CallSpan: Sendable, Hashable {
    /// The request method; nil for one that no route uses.
    public var method: HTTPMethod?
    /// The path of the route, with `{id}` for a variable segment; nil if no route matches.
    public var route: String?
    /// The operation; nil if the request was not parsed.
    public var action: Action?
    /// The status of the response.
    public var status: Int
    /// The reason why the call was rejected or failed; nil if it was carried out.
    public var rejection: RejectionCode?
    /// The policy decision, such as `send[0]`.
    public var rule: String?
    /// The number of requests to backends that have no span, because the call made too many.
    public var omittedRequests: Int

    /// Creates the span of a call.
    public init(
        method: HTTPMethod?, route: String?, action: Action?, status: Int, rejection: RejectionCode? = nil,
        rule: String? = nil, omittedRequests: Int = 0
    ) {
        self.method = method
        self.route = route
        self.action = action
        self.status = status
        self.rejection = rejection
        self.rule = rule
        self.omittedRequests = omittedRequests
    }
}

/// The span of a request to a backend.
public struct UpstreamRequestSpan: Sendable, Hashable {
    /// The request method.
    public var method: HTTPMethod?
    /// The purpose of the request: `reserve`, `upsert`, `delete`, `send` or `cancel`.
    public var step: String
    /// The name of the upstream (`UpstreamName`).
    public var upstream: String
    /// The status of the response; nil if there is none.
    public var status: Int?
    /// The reason why there is no response, such as `timed-out`; nil if there is one.
    public var failure: String?

    /// Creates the span of a request that has no response yet.
    public init(method: HTTPMethod?, step: String, upstream: String, status: Int? = nil, failure: String? = nil) {
        self.method = method
        self.step = step
        self.upstream = upstream
        self.status = status
        self.failure = failure
    }
}

/// A destination of the spans of sampled calls.
public protocol SpanRecorder: Sendable {
    /// Accepts or discards the spans of a completed call.
    ///
    /// Called on the call's event loop. Never waits, and discards spans that it cannot store at once.
    func record(_ spans: CallSpans)
}
