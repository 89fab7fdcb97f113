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
