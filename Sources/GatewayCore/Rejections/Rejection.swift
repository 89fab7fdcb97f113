public import GatewaySupport

/// The error of the request pipeline: a call that is rejected, and the reason.
///
/// The code is mapped to a status and a problem document, to a metric label, and to the journal's word, each in one
/// place.
public struct Rejection: Error, Sendable {
    /// The reason, from a closed list.
    public var code: RejectionCode
    /// The detail for the log and the operator. Never sent to the client.
    public var detail: String
    /// A constant sentence that tells the client how to correct the request. It contains no byte of the request and
    /// nothing internal.
    public var hint: String?
    /// Additional content of the response.
    public var extra: Extra?
    /// The facts of the call at the time of the rejection, set by the request pipeline. The rejection is recorded if
    /// they contain a user.
    public var facts: CallFacts?

    /// Additional content of some responses.
    public enum Extra: Sendable, Hashable {
        /// `Allow` (RFC 9110, section 10.2.1): the methods of the path.
        case allow([HTTPMethod])
        /// `Retry-After` in seconds, at least 1 (RFC 9110, section 10.2.3).
        case retryAfter(seconds: Int)
        /// The name of the exhausted limit, and `Retry-After` in seconds.
        case limit(name: String, retryAfterSeconds: Int)
        /// Additional members of the problem document: how many members of an audience were reached, skipped and
        /// failed.
        case audience([JSONValue.Member])
    }

    /// The side at fault.
    public var side: RejectionCode.Side { code.side }

    /// Creates a refusal. The pipeline adds `facts` later.
    public init(_ code: RejectionCode, _ detail: String, hint: String? = nil, extra: Extra? = nil) {
        self.code = code
        self.detail = detail
        self.hint = hint
        self.extra = extra
    }
}

extension Rejection {
    /// Returns the refusal with these facts, unless it has facts already.
    package func with(_ facts: CallFacts) -> Rejection {
        var rejection = self
        rejection.facts = self.facts ?? facts
        return rejection
    }
}
