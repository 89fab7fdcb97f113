internal import GatewayCore
internal import GatewaySupport

/// An encoder of spans as `ExportTraceServiceRequest` in the JSON of OTLP 1: ids in hexadecimal, enumerations as numbers,
/// 64-bit integers as strings.
struct OTLPTraceEncoder: Sendable {
    /// The names of the attributes, from OpenTelemetry's semantic conventions for HTTP and the gateway's own.
    private enum Key {
        static let method = "http.request.method"
        static let route = "http.route"
        static let status = "http.response.status_code"
        static let error = "error.type"
        static let call = "notify_gateway.call"
        static let action = "notify_gateway.action"
        static let result = "notify_gateway.result"
        static let rule = "notify_gateway.rule"
        static let omitted = "notify_gateway.omitted_requests"
        static let step = "notify_gateway.step"
        static let upstream = "notify_gateway.upstream"
    }

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
        var attributes = OTLPAttributes()
        attributes.add("service.name", resource.service)
        attributes.add("service.version", resource.version)
        if !resource.host.isEmpty { attributes.add("host.name", resource.host) }
        attributes.add("process.pid", resource.process)
        var head = Array(#"{"resourceSpans":[{"resource":{"attributes":"#.utf8)
        head += attributes.bytes
        head += Array(
            #"},"schemaUrl":"\#(Self.schema)","scopeSpans":[{"scope":{"name":"notify-gateway","version":"#.utf8)
        JSONWriter.write(string: resource.version, to: &head)
        head += Array(#"},"schemaUrl":"\#(Self.schema)","spans":["#.utf8)
        self.head = head
        tail = Array("]}]}]}".utf8)
    }

    /// Returns the body of a request with the spans.
    func body(of calls: some Collection<CallSpans>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(head.count + calls.reduce(0) { $0 + $1.spans.count } * Self.usualSpanBytes)
        bytes += head
        var isFirst = true
        for call in calls {
            for span in call.spans {
                if !isFirst { bytes.append(UInt8(ascii: ",")) }
                isFirst = false
                write(span, of: call, to: &bytes)
            }
        }
        bytes += tail
        return bytes
    }

    private static let usualSpanBytes = 384

    private func write(_ span: TraceSpan, of call: CallSpans, to bytes: inout [UInt8]) {
        func append(_ text: String) { bytes += text.utf8 }
        append(#"{"traceId":"\#(call.trace.id)","spanId":"\#(Self.hex(span.id))""#)
        if span.parent != 0 { append(#","parentSpanId":"\#(Self.hex(span.parent))""#) }
        if let state = call.trace.state {
            append(#","traceState":"#)
            JSONWriter.write(string: state.text, to: &bytes)
        }
        let (name, kind) = Self.title(of: span.subject)
        var flags = Flags.sampled | Flags.knowsParent
        if kind == .server, span.parent != 0 { flags |= Flags.parentIsRemote }
        append(#","flags":\#(flags),"name":"#)
        JSONWriter.write(string: name, to: &bytes)
        append(#","kind":\#(kind.rawValue),"startTimeUnixNano":"\#(span.start)","endTimeUnixNano":"\#(span.end)""#)
        let attributes = Self.attributes(of: span.subject, call.call)
        if !attributes.isEmpty {
            append(#","attributes":"#)
            bytes += attributes.bytes
        }
        if Self.isError(span.subject) { append(#","status":{"code":\#(Self.errorStatus)}"#) }
        append("}")
    }

    private static func hex(_ id: UInt64) -> String {
        String(expecting: 16) { $0.append(hexDigitsOf: id) }
    }

    private static func title(of subject: TraceSpan.Subject) -> (name: String, kind: Kind) {
        switch subject {
        case .call(let call):
            let method = call.method?.rawValue ?? "HTTP"
            return (call.route.map { "\(method) \($0)" } ?? method, .server)
        case .phase(let name): return (name, .internal)
        case .upstreamRequest(let request): return ("\(request.method?.rawValue ?? "HTTP") \(request.step)", .client)
        }
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

    private static func attributes(of subject: TraceSpan.Subject, _ id: CallID) -> OTLPAttributes {
        var attributes = OTLPAttributes()
        switch subject {
        case .call(let call):
            attributes.add(Key.method, call.method?.rawValue ?? "_OTHER")
            if let route = call.route { attributes.add(Key.route, route) }
            attributes.add(Key.status, call.status)
            if isError(subject) { attributes.add(Key.error, call.rejection?.rawValue ?? String(call.status)) }
            attributes.add(Key.call, id.text)
            if let action = call.action { attributes.add(Key.action, action.rawValue) }
            attributes.add(Key.result, call.rejection?.rawValue ?? "ok")
            if let rule = call.rule { attributes.add(Key.rule, rule) }
            if call.omittedRequests > 0 { attributes.add(Key.omitted, call.omittedRequests) }
        case .phase: break
        case .upstreamRequest(let request):
            attributes.add(Key.method, request.method?.rawValue ?? "_OTHER")
            if let status = request.status { attributes.add(Key.status, status) }
            if isError(subject) {
                attributes.add(Key.error, request.failure ?? request.status.map(String.init) ?? "_OTHER")
            }
            attributes.add(Key.step, request.step)
            attributes.add(Key.upstream, request.upstream)
        }
        return attributes
    }
}

/// A list of `KeyValue` messages in JSON.
struct OTLPAttributes {
    private var written: [UInt8] = [UInt8(ascii: "[")]
    private(set) var isEmpty = true

    /// The list.
    var bytes: [UInt8] { written + [UInt8(ascii: "]")] }

    /// Adds an attribute with text.
    mutating func add(_ key: String, _ value: String) {
        begin(key)
        written += #"{"stringValue":"#.utf8
        JSONWriter.write(string: value, to: &written)
        written += "}}".utf8
    }

    /// Adds an attribute with a number.
    mutating func add(_ key: String, _ value: Int) {
        begin(key)
        written += #"{"intValue":"\#(value)"}}"#.utf8
    }

    private mutating func begin(_ key: String) {
        if !isEmpty { written.append(UInt8(ascii: ",")) }
        isEmpty = false
        written += #"{"key":"#.utf8
        JSONWriter.write(string: key, to: &written)
        written += #","value":"#.utf8
    }
}
