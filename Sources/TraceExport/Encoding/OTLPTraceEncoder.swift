internal import GatewayCore
internal import GatewaySupport

/// An encoder of spans as `ExportTraceServiceRequest` in the JSON of OTLP 1: ids in hexadecimal, enumerations as numbers,
/// 64-bit integers as strings.
struct OTLPTraceEncoder: Sendable {
    /// The values of `Span.SpanKind`.
    private enum Kind: Int {
        case `internal` = 1
        case server = 2
        case client = 3
    }

    /// The bits of `Span.flags` beside those of the trace context (`SpanFlags`).
    private enum Flags {
        static let sampled = 0x01
        static let knowsParent = 0x100
        static let parentIsRemote = 0x200
    }

    /// The value of `Status.StatusCode` for an error. The others are left at their default, unset.
    private static let errorStatus = 2
    /// The version of the semantic conventions.
    static let schema = "https://opentelemetry.io/schemas/1.37.0"

    private let head: [UInt8]
    private let tail: [UInt8]

    /// Creates an encoder of spans of one resource.
    init(_ resource: TraceResource) {
        head = [UInt8](expecting: 1024) { bytes in
            bytes.append(#"{"resourceSpans":[{"resource":{"attributes":"#)
            var attributes = OTLPAttributes()
            attributes.add("service.name", resource.service, to: &bytes)
            attributes.add("service.version", resource.version, to: &bytes)
            if !resource.host.isEmpty { attributes.add("host.name", resource.host, to: &bytes) }
            attributes.add("process.pid", resource.process, to: &bytes)
            bytes.append("]},\"schemaUrl\":")
            JSONWriter.write(string: Self.schema, to: &bytes)
            bytes.append(#","scopeSpans":[{"scope":{"name":"notify-gateway","version":"#)
            JSONWriter.write(string: resource.version, to: &bytes)
            bytes.append("},\"schemaUrl\":")
            JSONWriter.write(string: Self.schema, to: &bytes)
            bytes.append(#","spans":["#)
        }
        tail = Array("]}]}]}".utf8)
    }

    /// Returns the body of a request with the spans.
    func body(of calls: some Collection<CallSpans>) -> [UInt8] {
        let spans = calls.reduce(0) { $0 + $1.spans.count }
        return [UInt8](expecting: head.count + tail.count + spans * Self.usualSpanBytes) { bytes in
            bytes.append(head)
            var isFirst = true
            for call in calls {
                for span in call.spans {
                    if !isFirst { bytes.append(",") }
                    isFirst = false
                    Self.write(span, of: call, to: &bytes)
                }
            }
            bytes.append(tail)
        }
    }

    /// The size of a usual span; the body of longer ones is written twice.
    private static let usualSpanBytes = 640

    private static func write(_ span: TraceSpan, of call: CallSpans, to bytes: inout ByteWriter) {
        bytes.append(#"{"traceId":""#)
        call.trace.write(idTo: &bytes)
        bytes.append(#"","spanId":""#)
        bytes.append(hexDigitsOf: span.id)
        if span.parent != 0 {
            bytes.append(#"","parentSpanId":""#)
            bytes.append(hexDigitsOf: span.parent)
        }
        bytes.append("\"")
        if let state = call.trace.state {
            bytes.append(#","traceState":"#)
            JSONWriter.write(string: state.text, to: &bytes)
        }
        let kind = kind(of: span.subject)
        let parentIsRemote = kind == .server && span.parent != 0
        bytes.append(#","flags":"#)
        bytes.append(
            decimal: Flags.sampled | Flags.knowsParent | (parentIsRemote ? Flags.parentIsRemote : 0))
        bytes.append(#","name":"#)
        write(nameOf: span.subject, to: &bytes)
        bytes.append(#","kind":"#)
        bytes.append(decimal: kind.rawValue)
        bytes.append(#","startTimeUnixNano":""#)
        bytes.append(decimal: Int(span.start))
        bytes.append(#"","endTimeUnixNano":""#)
        bytes.append(decimal: Int(span.end))
        bytes.append("\"")
        write(attributesOf: span.subject, call.call, to: &bytes)
        if isError(span.subject) {
            bytes.append(#","status":{"code":"#)
            bytes.append(decimal: errorStatus)
            bytes.append("}")
        }
        bytes.append("}")
    }

    private static func kind(of subject: TraceSpan.Subject) -> Kind {
        switch subject {
        case .call: .server
        case .phase: .internal
        case .upstreamRequest: .client
        }
    }

    private static func write(nameOf subject: TraceSpan.Subject, to bytes: inout ByteWriter) {
        bytes.append("\"")
        switch subject {
        case .call(let call):
            JSONWriter.escape(call.method?.rawValue ?? "HTTP", to: &bytes)
            if let route = call.route {
                bytes.append(" ")
                JSONWriter.escape(route, to: &bytes)
            }
        case .phase(let name): JSONWriter.escape(name, to: &bytes)
        case .upstreamRequest(let request):
            JSONWriter.escape(request.method?.rawValue ?? "HTTP", to: &bytes)
            bytes.append(" ")
            JSONWriter.escape(request.step, to: &bytes)
        }
        bytes.append("\"")
    }

    /// Returns whether the span has the status of an error: a server's for 5xx, a client's also for 4xx and without a
    /// response (semantic conventions for HTTP spans).
    private static func isError(_ subject: TraceSpan.Subject) -> Bool {
        switch subject {
        case .call(let call): call.status >= 500
        case .phase: false
        case .upstreamRequest(let request): request.failure != nil || (request.status ?? 0) >= 400
        }
    }

    /// Appends the attributes, whose names are those of OpenTelemetry's semantic conventions for HTTP and the gateway's
    /// own. A phase has none.
    private static func write(attributesOf subject: TraceSpan.Subject, _ id: CallID, to bytes: inout ByteWriter) {
        if case .phase = subject { return }
        bytes.append(#","attributes":"#)
        var attributes = OTLPAttributes()
        switch subject {
        case .call(let call):
            attributes.add("http.request.method", call.method?.rawValue ?? "_OTHER", to: &bytes)
            if let route = call.route { attributes.add("http.route", route, to: &bytes) }
            attributes.add("http.response.status_code", call.status, to: &bytes)
            if isError(subject) {
                attributes.add("error.type", call.rejection?.rawValue ?? String(call.status), to: &bytes)
            }
            attributes.add("notify_gateway.call", id.text, to: &bytes)
            if let action = call.action { attributes.add("notify_gateway.action", action.rawValue, to: &bytes) }
            attributes.add("notify_gateway.result", call.rejection?.rawValue ?? "ok", to: &bytes)
            if let rule = call.rule { attributes.add("notify_gateway.rule", rule, to: &bytes) }
            if call.omittedRequests > 0 {
                attributes.add("notify_gateway.omitted_requests", call.omittedRequests, to: &bytes)
            }
        case .phase: break
        case .upstreamRequest(let request):
            attributes.add("http.request.method", request.method?.rawValue ?? "_OTHER", to: &bytes)
            if let status = request.status { attributes.add("http.response.status_code", status, to: &bytes) }
            if isError(subject) {
                let type = request.failure ?? request.status.map { String($0) } ?? "_OTHER"
                attributes.add("error.type", type, to: &bytes)
            }
            attributes.add("notify_gateway.step", request.step, to: &bytes)
            attributes.add("notify_gateway.upstream", request.upstream, to: &bytes)
        }
        bytes.append("]")
    }
}

/// A writer of a list of `KeyValue` messages in JSON. The caller appends the closing bracket.
private struct OTLPAttributes {
    private var isEmpty = true

    /// Appends an attribute with text.
    mutating func add(_ key: StaticString, _ value: String, to bytes: inout ByteWriter) {
        begin(key, to: &bytes)
        bytes.append(#"{"stringValue":"#)
        JSONWriter.write(string: value, to: &bytes)
        bytes.append("}}")
    }

    /// Appends an attribute with a number.
    mutating func add(_ key: StaticString, _ value: Int, to bytes: inout ByteWriter) {
        begin(key, to: &bytes)
        bytes.append(#"{"intValue":""#)
        bytes.append(decimal: value)
        bytes.append(#""}}"#)
    }

    /// Appends the key, which needs no escape.
    private mutating func begin(_ key: StaticString, to bytes: inout ByteWriter) {
        bytes.append(isEmpty ? #"[{"key":""# : #",{"key":""#)
        isEmpty = false
        bytes.append(key)
        bytes.append(#"","value":"#)
    }
}
