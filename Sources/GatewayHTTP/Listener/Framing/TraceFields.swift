/// The fields of a request that say which trace it belongs to (W3C Trace Context), as places in the head. Read of trusted peers
/// alone.
struct TraceFields {
    /// `traceparent`.
    private(set) var parent = RequestHead.Occurrence.absent
    /// `tracestate`, in the order of the request: a list, which may stand in several lines (RFC 9110, section 5.3).
    private(set) var states: [Range<Int>] = []

    /// Takes the field, if it is one of them. Whether the value is any good is for whoever reads it: a trace is nothing to refuse a
    /// request for.
    mutating func process(_ field: RequestField, _ value: Range<Int>) {
        switch field {
        case .traceparent: parent.add(value)
        case .tracestate: states.append(value)
        default: break
        }
    }
}
