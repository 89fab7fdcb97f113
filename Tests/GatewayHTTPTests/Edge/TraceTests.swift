import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import GatewayHTTP

/// The trace context of requests to the backend: that of a trusted peer, or a new one. Tested from the client's socket
/// to the backend's request, for both protocols.
@Suite(.timeLimit(.minutes(1)))
struct TraceTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let span = "b7ad6b7169203331"
    private static let valid = "00-\(trace)-\(span)-01"

    /// The relation of the peer to the listener.
    enum Trust: CaseIterable {
        /// A trusted proxy that uses `X-Forwarded-For`.
        case listed
        /// A trusted proxy that uses `Forwarded`.
        case listedByTheStandard
        /// A trusted client that a proxy reports through the PROXY protocol.
        case announcedAndListed
        case unknown, announced, announcedAsUnknown, announcedAsNobody

        var isTrusted: Bool {
            switch self {
            case .listed, .listedByTheStandard, .announcedAndListed: true
            case .unknown, .announced, .announcedAsUnknown, .announcedAsNobody: false
            }
        }

        func configure(_ configuration: inout ListenerConfiguration) {
            configuration.supportsHTTP2 = true
            // Encryption is not part of this test.
            configuration.allowsPlaintextCredentials = true
            let proxies = self == .unknown ? ["192.0.2.0/24"] : ["127.0.0.1", "10.0.0.0/8"]
            configuration.trustedProxies.proxies = proxies.compactMap(AddressRange.init)
            configuration.trustedProxies.source =
                switch self {
                case .listed, .unknown: .xForwardedFor
                case .listedByTheStandard: .forwarded
                case .announcedAndListed, .announced, .announcedAsUnknown, .announcedAsNobody: .proxyProtocol
                }
        }

        /// The bytes that are sent first on a connection.
        var announcement: [UInt8] {
            switch self {
            case .listed, .listedByTheStandard, .unknown: []
            case .announcedAndListed: Array("PROXY TCP4 10.1.2.3 10.0.0.1 4711 443\r\n".utf8)
            case .announced: Array("PROXY TCP4 192.0.2.1 10.0.0.1 4711 443\r\n".utf8)
            case .announcedAsUnknown: Array("PROXY UNKNOWN\r\n".utf8)
            case .announcedAsNobody: ProxyHeaderTests.binary(0, [], kind: 0x20)
            }
        }
    }

    enum Spoken: CaseIterable { case http1, http2 }

    /// Returns the trace context that the backend received with a call of status 200.
    private func told(
        _ bench: EdgeFixture, _ status: Trust, _ spoken: Spoken, _ fields: [(String, String)]
    ) async throws -> (trace: String, span: String, flags: String, state: [String], call: String) {
        let before = bench.gateway.backend.requests.count
        let call: String?
        switch spoken {
        case .http1:
            let lines = fields.map { "\($0): \($1)\r\n" }.joined()
            let answers = try await bench.exchange(status.announcement + Array(EdgeFixture.send(lines).utf8))
            #expect(answers.statuses == [200])
            call = answers.field("X-Request-Id")
        case .http2:
            let client = try await FrameClient.connect(
                to: bench.listener.localAddress, group: EdgeFixture.group, saysPreface: false)
            try await client.send(
                bytes: status.announcement + FrameClient.preface + FrameClient.Frame.settings.bytes)
            let head =
                HTTP2Fixture.post("/api/notifications?pns=apns&to_tag=bob")
                + [("authorization", "Bearer alices-token"), ("content-type", "application/json")]
            try await client.send(.headers(1, head + fields, end: false), .data(1, "\"hi\""))
            let answer = await client.answer(on: 1)
            #expect(answer.status == 200)
            call = answer.fields["x-request-id"]
            try await client.channel.close()
        }
        let requests = bench.gateway.backend.requests.dropFirst(before)
        #expect(requests.count == 1)
        let request = try #require(requests.first)
        let parts = try #require(request.values("traceparent").first).split(separator: "-").map(String.init)
        try #require(request.values("traceparent").count == 1 && parts.count == 4 && parts[0] == "00")
        return (parts[1], parts[2], parts[3], request.values("tracestate"), try #require(call))
    }

    private func run(_ status: Trust, _ body: (EdgeFixture) async throws -> Void) async throws {
        try await EdgeFixture.run {
            status.configure(&$0)
        } _: {
            try await body($0)
        }
    }

    @Test("Only a trusted peer sets the trace context", arguments: Trust.allCases, Spoken.allCases)
    func onlyATrustedPeerSetsTheTraceContext(_ status: Trust, _ spoken: Spoken) async throws {
        try await run(status) { bench in
            let fields = [
                ("traceparent", Self.valid), ("tracestate", "rojo=1"), ("tracestate", "congo=t61 , lila=3"),
            ]
            let told = try await told(bench, status, spoken, fields)
            #expect(told.span != Self.span)
            #expect(told.span != "0000000000000000")
            if status.isTrusted {
                #expect(told.trace == Self.trace)
                #expect(told.flags == "01")
                #expect(told.state == ["rojo=1,congo=t61,lila=3"])
            } else {
                #expect(told.trace == told.call)
                #expect(told.flags == "00")
                #expect(told.state.isEmpty)
            }
        }
    }

    /// An invalid trace context is ignored for every peer. The call starts a new trace.
    @Test("An invalid trace context starts a new trace", arguments: Spoken.allCases)
    func anInvalidTraceContextStartsANewTrace(_ spoken: Spoken) async throws {
        let hostile: [[String]] = [
            [], [""], [String(Self.valid.dropLast())], ["\(Self.valid)1"], ["\(Self.valid)-01"],
            ["00-\(String(repeating: "0", count: 32))-\(Self.span)-01"],
            ["00-\(Self.trace)-\(String(repeating: "0", count: 16))-01"], ["ff-\(Self.trace)-\(Self.span)-01"],
            [Self.valid.uppercased()], [Self.valid, Self.valid], ["\(Self.valid), \(Self.valid)"],
            ["\(Self.valid)\u{E9}"],
            [String(repeating: "0", count: 4000)],
        ]
        try await run(.listed) { bench in
            for values in hostile {
                let told = try await told(
                    bench, .listed, spoken, values.map { ("traceparent", $0) } + [("tracestate", "rojo=1")])
                #expect(told.trace == told.call, "\(values)")
                #expect(told.flags == "00", "\(values)")
                #expect(told.state.isEmpty, "\(values)")
            }
        }
    }

    /// Only the invalid list is dropped; `traceparent` stays.
    @Test("An invalid tracestate is dropped alone", arguments: Spoken.allCases)
    func anInvalidTracestateIsDroppedAlone(_ spoken: Spoken) async throws {
        let hostile: [[String]] = [
            [""], ["rojo"], ["Rojo=1"], ["rojo=1", "rojo=2"], ["rojo=1", "x"], ["rojo=\u{E9}"],
            (0..<33).map { "k\($0)=1" },
            ["a=\(String(repeating: "v", count: 250)),b=\(String(repeating: "v", count: 258))"],
            [String(repeating: ",", count: 4000)],
        ]
        try await run(.listed) { bench in
            for values in hostile {
                let told = try await told(
                    bench, .listed, spoken, [("traceparent", Self.valid)] + values.map { ("tracestate", $0) })
                #expect(told.trace == Self.trace, "\(values)")
                #expect(told.state.isEmpty, "\(values)")
            }
        }
    }

    /// A trace context does not affect the next request on the connection.
    @Test("The trace context of one request does not apply to the next")
    func theTraceContextOfOneRequestDoesNotApplyToTheNext() async throws {
        try await run(.listed) { bench in
            let first = EdgeFixture.send("traceparent: \(Self.valid)\r\ntracestate: rojo=1\r\n")
                .replacing("Connection: close\r\n", with: "")
            let answers = try await bench.exchange(first + EdgeFixture.send())
            #expect(answers.statuses == [200, 200])
            let requests = bench.gateway.backend.requests
            #expect(requests.map { $0.values("traceparent")[0].contains(Self.trace) } == [true, false])
            #expect(requests.map { $0.values("tracestate").count } == [1, 0])
        }
    }
}
