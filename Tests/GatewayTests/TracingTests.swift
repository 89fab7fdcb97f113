import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import Gateway

@Suite("Spans of calls", .timeLimit(.minutes(2)))
struct TracingTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let parent: UInt64 = 0xb7ad_6b71_6920_3331

    private static func gateway(
        _ sampling: TraceSampling? = TraceSampling(ratio: 1),
        answering response: @escaping @Sendable (CapturedRequest) async -> BackendResult = ScriptedBackend
            .alwaysSucceeds, adjust: (inout CompiledConfiguration) -> Void = { _ in }
    ) -> TestGateway {
        TestGateway(
            adjust: { rules in
                rules.tracing = sampling
                adjust(&rules)
            }, answering: response)
    }

    private static func traced(_ request: ReceivedRequest, isSampled: Bool) -> ReceivedRequest {
        var request = request
        request.traceparent = .text("00-\(trace)-b7ad6b7169203331-0\(isSampled ? 1 : 0)")
        request.tracestate = ByteBuffer(string: "rojo=1")
        return request
    }

    private static func call(_ spans: CallSpans) throws -> CallSpan {
        guard case .call(let call) = spans.spans.first?.subject else { throw Missing() }
        return call
    }

    private struct Missing: Error {}

    private static func phases(_ spans: CallSpans) -> [String] {
        spans.spans.compactMap { if case .phase(let name) = $0.subject { name } else { nil } }
    }

    private static func requests(_ spans: CallSpans) -> [(span: TraceSpan, request: UpstreamRequestSpan)] {
        spans.spans.compactMap { span in
            if case .upstreamRequest(let request) = span.subject { (span, request) } else { nil }
        }
    }

    /// The parts of the `traceparent` that the backend received.
    private static func told(_ gateway: TestGateway, _ index: Int = 0) -> [String] {
        gateway.backend.requests[index].values("traceparent")[0].split(separator: "-").map(String.init)
    }

    @Test("A send has a span, one for each phase, and one for the backend's request, whose id the backend receives")
    func send() async throws {
        let clock = AwaitableValue<ManualClock?>(nil)
        let gateway = Self.gateway(answering: { _ in
            clock.current?.advance(by: .milliseconds(3))
            return .status(202)
        })
        clock.withLock { $0 = gateway.clock }
        let start = gateway.clock.clocks.wall().microseconds * 1000
        let request = Sample.send("\"the secret text\"")
        #expect(await gateway.serve(request).status == 200)
        let spans = try #require(gateway.spans.calls.first)
        #expect(gateway.spans.calls.count == 1)
        #expect(spans.call == request.id && spans.trace.id == request.id.text && spans.trace.isSampled)
        let call = try Self.call(spans)
        #expect(
            call
                == CallSpan(
                    method: .post, route: "/api/notifications", action: .send, status: 200, rule: "send[0]"))
        let root = spans.spans[0]
        #expect(root.parent == 0 && root.start == start && root.end == start + 3_000_000)
        #expect(
            Self.phases(spans) == [
                "parse", "authenticate", "authorize", "deduplicate", "limit", "rewrite", "record", "forward",
                "complete",
            ])
        let forward = try #require(spans.spans.first { $0.subject == .phase("forward") })
        let (span, backend) = try #require(Self.requests(spans).first)
        #expect(
            backend
                == UpstreamRequestSpan(method: .post, step: "send", upstream: "backend", status: 202))
        #expect(span.parent == forward.id && span.start == start && span.end == start + 3_000_000)
        let parts = Self.told(gateway)
        #expect(parts[1] == request.id.text && parts[2] == Self.hex(span.id) && parts[3] == "01")
        for span in spans.spans.dropFirst() {
            #expect(span.start >= root.start && span.end >= span.start && span.end <= root.end)
            if case .phase = span.subject { #expect(span.parent == root.id) }
        }
        #expect(Set(spans.spans.map(\.id)).count == spans.spans.count)
        // Neither the users nor the message are in the spans.
        for word in ["alice", "bob", "secret"] { #expect(!"\(spans)".contains(word)) }
    }

    private static func hex(_ id: UInt64) -> String {
        String(expecting: 16) { $0.append(hexDigitsOf: id) }
    }

    @Test("Without tracing, and for a call that is not selected, there are no spans and the backend is told so")
    func unsampled() async throws {
        for sampling in [nil, TraceSampling(ratio: 0)] {
            let gateway = Self.gateway(sampling)
            #expect(await gateway.serve(Sample.send()).status == 200)
            #expect(await gateway.serve(Sample.send(as: "nobody")).status == 401)
            #expect(gateway.spans.calls.isEmpty)
            #expect(Self.told(gateway)[3] == "00")
        }
    }

    @Test("The sampled flag of a trusted parent decides", arguments: [true, false])
    func followsParent(isSampled: Bool) async throws {
        let gateway = Self.gateway(TraceSampling(ratio: isSampled ? 0 : 1))
        _ = await gateway.serve(Self.traced(Sample.send(), isSampled: isSampled))
        let parts = Self.told(gateway)
        #expect(parts[1] == Self.trace && parts[3] == (isSampled ? "01" : "00"))
        #expect(gateway.spans.calls.count == (isSampled ? 1 : 0))
        guard let spans = gateway.spans.calls.first else { return }
        #expect(spans.trace.id == Self.trace && spans.trace.state?.text == "rojo=1")
        #expect(spans.spans[0].parent == Self.parent)
        #expect(gateway.backend.requests[0].values("tracestate") == ["rojo=1"])
    }

    @Test("A parent that is not followed does not decide, and its flag is not removed", arguments: [0, 1] as [Double])
    func doesNotFollowParent(ratio: Double) async throws {
        let gateway = Self.gateway(TraceSampling(ratio: ratio, followsParent: false))
        _ = await gateway.serve(Self.traced(Sample.send(), isSampled: true))
        _ = await gateway.serve(Self.traced(Sample.send(), isSampled: false))
        #expect(gateway.spans.calls.count == (ratio == 1 ? 2 : 0))
        #expect((0..<2).map { Self.told(gateway, $0)[3] } == ["01", ratio == 1 ? "01" : "00"])
    }

    @Test(
        "A rejected call has the phases up to its rejection, with the reason",
        arguments: [
            (ReceivedRequest("GET /nowhere/alice"), nil, 404, RejectionCode.noRoute, ["parse"]),
            (ReceivedRequest("DELETE /api/register/x%00"), "/api/register/{id}", 400, .malformedRequest, ["parse"]),
            (
                Sample.send(as: "nobody"), "/api/notifications", 401, .credentialsRejected, ["parse", "authenticate"]
            ),
            (
                Sample.send("no JSON"), "/api/notifications", 400, .malformedMessage, ["parse"]
            ),
        ])
    func rejected(
        _ request: ReceivedRequest, route: String?, status: Int, code: RejectionCode, phases: [String]
    ) async throws {
        let gateway = Self.gateway()
        #expect(await gateway.serve(request).status == status)
        let spans = try #require(gateway.spans.calls.first)
        let call = try Self.call(spans)
        #expect(call.route == route && call.status == status && call.rejection == code)
        #expect(call.method == request.method && call.rule == nil)
        #expect(Self.phases(spans) == phases)
    }

    @Test("A rejection by the policy has its rule, and one by a limit the phases before it")
    func rejectedLater() async throws {
        let gateway = Self.gateway(adjust: {
            $0.limiter = Limiter(
                [Limit(name: "few", per: [.sender], count: 1, period: .seconds(60))], clocks: ManualClock().clocks)
        })
        _ = await gateway.serve(Sample.send())
        #expect(await gateway.serve(Sample.send()).status == 429)
        let spans = try #require(gateway.spans.calls.last)
        let call = try Self.call(spans)
        #expect(call.rejection == .rateLimited && call.rule == "send[0]")
        #expect(Self.phases(spans).last == "limit")
    }

    @Test(
        "The span of a request to the backend says how it ended",
        arguments: [
            (BackendResult.status(503), 503, nil, 502), (.timedOut, nil, "timed-out", 504),
            (.unreachable("x"), nil, "unreachable", 502), (.broken("x"), nil, "broken", 502),
            (.circuitOpen, nil, "circuit-open", 503), (.overloaded, nil, "overloaded", 503),
            (.gatewayStopped, nil, "gateway-stopped", 502),
        ] as [(BackendResult, Int?, String?, Int)])
    func backendFailures(_ result: BackendResult, status: Int?, failure: String?, response: Int) async throws {
        let gateway = Self.gateway(answering: { _ in result })
        #expect(await gateway.serve(Sample.send()).status == response)
        let spans = try #require(gateway.spans.calls.first)
        let (_, request) = try #require(Self.requests(spans).first)
        #expect(request.status == status && request.failure == failure)
        #expect(try Self.call(spans).status == response)
    }

    @Test("A registration has a span for each of its requests")
    func registration() async throws {
        let gateway = Self.gateway()
        #expect(await gateway.serve(Sample.put()).status == 200)
        let spans = try #require(gateway.spans.calls.first)
        #expect(try Self.call(spans).route == "/api/register/{id}")
        let requests = Self.requests(spans)
        #expect(requests.map(\.request.step) == ["reserve", "upsert"])
        #expect(requests.map(\.request.method) == [.post, .put])
        #expect(requests.map { Self.hex($0.span.id) } == (0..<2).map { Self.told(gateway, $0)[2] })
    }

    @Test("A send to an audience has at most 128 spans of requests, and counts the others")
    func audience() async throws {
        let gateway = Self.gateway(adjust: {
            let name = AudienceName("all")!
            $0.policy.send.append(.init(from: .anyUser, to: .audience(name)))
            $0.policy.audiences = [name: (0..<140).map { UserName(canonical: "user\($0)")! }]
            $0.limiter = Limiter([], clocks: ManualClock().clocks)
        })
        #expect(await gateway.serve(Sample.send(to: "audience:all")).status == 200)
        let spans = try #require(gateway.spans.calls.first)
        #expect(Self.requests(spans).count == 128 && gateway.backend.requests.count == 140)
        let call = try Self.call(spans)
        #expect(call.omittedRequests == 12)
        #expect(Self.requests(spans).allSatisfy { $0.request.status == 200 })
    }

    @Test("A call that the gateway serves itself has the phase of its response")
    func local() async throws {
        let gateway = Self.gateway()
        #expect(await gateway.serve(Sample.whoami).status == 200)
        let spans = try #require(gateway.spans.calls.first)
        #expect(Self.phases(spans).last == "respond" && Self.requests(spans).isEmpty)
        #expect(try Self.call(spans).action == .whoami)
    }
}
