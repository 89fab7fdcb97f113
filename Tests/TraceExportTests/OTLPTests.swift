import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import TraceExport

@Suite("OTLP in JSON")
struct OTLPTests {
    private static let encoder = OTLPTraceEncoder(
        TraceResource(service: "edge \"1\"", version: "0.1.0", host: "gate", process: 42))

    private static let resource =
        #"{"attributes":[{"key":"service.name","value":{"stringValue":"edge \"1\""}},{"key":"service.version","value":{"stringValue":"0.1.0"}},{"key":"host.name","value":{"stringValue":"gate"}},{"key":"process.pid","value":{"intValue":"42"}}]}"#

    private static func body(_ spans: String) -> String {
        let schema = #""schemaUrl":"\#(OTLPTraceEncoder.schema)""#
        return
            #"{"resourceSpans":[{"resource":\#(resource),\#(schema),"scopeSpans":[{"scope":{"name":"notify-gateway","version":"0.1.0"},\#(schema),"spans":[\#(spans)]}]}]}"#
    }

    private static func text(_ calls: [CallSpans]) -> String {
        String(decoding: encoder.body(of: calls), as: UTF8.self)
    }

    private static func attribute(_ key: String, _ value: String) -> String {
        #"{"key":"\#(key)","value":{"stringValue":"\#(value)"}}"#
    }

    @Test("A call, a phase and a request, with a parent of a trusted peer")
    func complete() throws {
        let trace = try #require(
            TraceContext(
                traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".utf8,
                state: TraceState("rojo=1,a=\"\\".utf8)))
        let call = CallID(process: 0xFEED, number: 1)
        let spans = CallSpans(
            trace: trace, call: call,
            spans: [
                TraceSpan(
                    id: 0xA, parent: 0xB7AD_6B71_6920_3331, start: 1_795_000_000_000_000_001,
                    end: 1_795_000_000_250_000_000,
                    subject: .call(
                        CallSpan(
                            method: .post, route: "/api/notifications", action: .send, status: 502,
                            rejection: .backendFailed, rule: "send[0]", omittedRequests: 2))),
                TraceSpan(id: 0xB, parent: 0xA, start: 5, end: 6, subject: .phase("forward")),
                TraceSpan(
                    id: .max, parent: 0xB, start: 5, end: 6,
                    subject: .upstreamRequest(
                        UpstreamRequestSpan(method: .put, step: "upsert", upstream: "hub", status: 404))),
            ])
        let ids = #""traceId":"0af7651916cd43dd8448eb211c80319c","spanId":"#
        let state = #""traceState":"rojo=1,a=\"\\""#
        let call0 =
            #"{\#(ids)"000000000000000a","parentSpanId":"b7ad6b7169203331",\#(state),"flags":769,"name":"POST /api/notifications","kind":2,"startTimeUnixNano":"1795000000000000001","endTimeUnixNano":"1795000000250000000","attributes":["#
            + [
                Self.attribute("http.request.method", "POST"), Self.attribute("http.route", "/api/notifications"),
                #"{"key":"http.response.status_code","value":{"intValue":"502"}}"#,
                Self.attribute("error.type", "backend-failed"), Self.attribute("notify_gateway.call", call.text),
                Self.attribute("notify_gateway.action", "send"),
                Self.attribute("notify_gateway.result", "backend-failed"),
                Self.attribute("notify_gateway.rule", "send[0]"),
                #"{"key":"notify_gateway.omitted_requests","value":{"intValue":"2"}}"#,
            ].joined(separator: ",") + #"],"status":{"code":2}}"#
        let phase =
            #"{\#(ids)"000000000000000b","parentSpanId":"000000000000000a",\#(state),"flags":257,"name":"forward","kind":1,"startTimeUnixNano":"5","endTimeUnixNano":"6"}"#
        let request =
            #"{\#(ids)"ffffffffffffffff","parentSpanId":"000000000000000b",\#(state),"flags":257,"name":"PUT upsert","kind":3,"startTimeUnixNano":"5","endTimeUnixNano":"6","attributes":["#
            + [
                Self.attribute("http.request.method", "PUT"),
                #"{"key":"http.response.status_code","value":{"intValue":"404"}}"#,
                Self.attribute("error.type", "404"), Self.attribute("notify_gateway.step", "upsert"),
                Self.attribute("notify_gateway.upstream", "hub"),
            ].joined(separator: ",") + #"],"status":{"code":2}}"#
        #expect(Self.text([spans]) == Self.body([call0, phase, request].joined(separator: ",")))
    }

    @Test("A call without parent, route and known method; two calls in one request")
    func minimal() {
        let call = CallID(process: 1, number: 2)
        let spans = CallSpans(
            trace: TraceContext(of: call), call: call,
            spans: [
                TraceSpan(
                    id: 3, parent: 0, start: 0, end: 0,
                    subject: .call(CallSpan(method: nil, route: nil, action: nil, status: 405)))
            ])
        let one =
            #"{"traceId":"00000000000000010000000000000002","spanId":"0000000000000003","flags":257,"name":"HTTP","kind":2,"startTimeUnixNano":"0","endTimeUnixNano":"0","attributes":["#
            + [
                Self.attribute("http.request.method", "_OTHER"),
                #"{"key":"http.response.status_code","value":{"intValue":"405"}}"#,
                Self.attribute("notify_gateway.call", call.text), Self.attribute("notify_gateway.result", "ok"),
            ].joined(separator: ",") + "]}"
        #expect(Self.text([spans, spans]) == Self.body("\(one),\(one)"))
        #expect(Self.text([]) == Self.body(""))
    }

    @Test(
        "The response decides what happens with the spans",
        arguments: [
            (200, "{}", OTLPResponse.accepted(rejected: 0, message: "")),
            (200, "", .accepted(rejected: 0, message: "")),
            (200, #"{"partialSuccess":{}}"#, .accepted(rejected: 0, message: "")),
            (
                200, #"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too\nold"}}"#,
                .accepted(rejected: 3, message: "too?old")
            ),
            (200, #"{"partialSuccess":{"rejectedSpans":4}}"#, .accepted(rejected: 4, message: "")),
            (200, #"{"partialSuccess":{"rejectedSpans":"99"}}"#, .accepted(rejected: 10, message: "")),
            (200, #"{"partialSuccess":{"rejectedSpans":"-1"}}"#, .accepted(rejected: 0, message: "")),
            (200, #"{"partialSuccess":{"rejectedSpans":"x"}}"#, .accepted(rejected: 0, message: "")),
            (200, #"{"partialSuccess":[]}"#, .accepted(rejected: 0, message: "")),
            (202, "not JSON", .accepted(rejected: 0, message: "")),
            (429, "", .retryable(reason: "the collector responded with status 429", after: .seconds(7))),
            (502, "", .retryable(reason: "the collector responded with status 502", after: .seconds(7))),
            (503, "", .retryable(reason: "the collector responded with status 503", after: .seconds(7))),
            (504, "", .retryable(reason: "the collector responded with status 504", after: .seconds(7))),
            (400, "", .rejected(reason: "the collector responded with status 400")),
            (401, "", .rejected(reason: "the collector responded with status 401")),
            (500, "", .rejected(reason: "the collector responded with status 500")),
            (
                307, "",
                .rejected(reason: "the collector responded with status 307; redirects are not followed")
            ),
        ])
    func responses(status: Int, body: String, expected: OTLPResponse) {
        #expect(OTLPResponse(status: status, retryAfter: .seconds(7), body: Array(body.utf8), sent: 10) == expected)
    }

    @Test("A collector's text in the log is short and printable, and a deep response is not read")
    func hostileResponses() {
        let long = String(repeating: "é", count: 10_000)
        let response = OTLPResponse(
            status: 200, retryAfter: nil, body: Array(#"{"partialSuccess":{"errorMessage":"\#(long)"}}"#.utf8), sent: 1)
        #expect(
            response == .accepted(rejected: 0, message: String(repeating: "?", count: OTLPResponse.maximumMessageBytes))
        )
        let deep = String(repeating: "[", count: 50_000)
        #expect(
            OTLPResponse(status: 200, retryAfter: nil, body: Array(deep.utf8), sent: 1)
                == .accepted(rejected: 0, message: ""))
    }
}
