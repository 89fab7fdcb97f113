/// A call that is not carried out, and why. The one error of the way of a call.
///
/// One place turns the code into a status and a problem document, one into a metric's label, one into the journal's word.
public struct Refusal: Error, Sendable {
    /// The reason, from the closed list.
    public var code: RefusalCode
    /// For the log and the operator alone; never sent.
    public var detail: String
    /// A constant sentence that may be sent: how the caller can do better. No byte of the request, nothing internal.
    public var hint: String?
    /// Further things that the answer must say.
    public var extra: Extra?
    /// What was known of the call when it was refused; set by the way of a call, recorded where a user is in it.
    public var facts: CallFacts?

    /// What some answers must say beside the code.
    public enum Extra: Sendable, Hashable {
        /// `Allow` (RFC 9110, section 10.2.1): the methods that the path has.
        case allow([HTTPMethod])
        /// `Retry-After` in seconds, 1 or more (RFC 9110, section 10.2.3).
        case retryAfter(seconds: Int)
        /// The limit that is spent, and `Retry-After` in seconds.
        case limit(name: String, retryAfterSeconds: Int)
        /// Further members of the problem document: how many members of an audience were reached, and how many not.
        case audience([JSONValue.Member])
    }

    /// Whose fault it is.
    public var side: RefusalCode.Side { code.side }

    /// A refusal; `facts` are added by whoever knows them.
    public init(_ code: RefusalCode, _ detail: String, hint: String? = nil, extra: Extra? = nil) {
        self.code = code
        self.detail = detail
        self.hint = hint
        self.extra = extra
    }
}

extension Refusal {
    /// The refusal with what is known of the call, unless it knows already.
    package func with(_ facts: CallFacts) -> Refusal {
        var refusal = self
        refusal.facts = self.facts ?? facts
        return refusal
    }
}
