import Foundation
import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import GatewayHTTP

/// Clients that send the fields which the gateway itself sends to the backend. No byte of theirs reaches the backend,
/// and each field of the gateway is present exactly once.
@Suite(.timeLimit(.minutes(2)))
struct SpoofedFieldTests {
    /// The fields that the gateway sends, with the values that a client tries to set.
    static let names: [(name: String, evil: String)] = [
        ("Host", "evil.test"), ("Authorization", "Basic ZXZpbDpldmls"), ("Accept", "evil/evil"),
        ("X-Request-Id", "evil-evil-evil"), ("Content-Type", "text/evil"), ("Content-Length", "77"),
        ("X-Gateway-User", "evil"), ("X-Gateway-Secret", "evil"), ("Transfer-Encoding", "evil"), ("Connection", "evil"),
        ("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"), ("Tracestate", "evil=1"),
    ]

    /// The variants of a spoofed field within the fields of a valid request.
    enum Way: String, CaseIterable {
        case asItIs, inSmallLetters, inCapitals, inBoth, withLowLines, withLowLineBefore, withLowLineBehind
        case withoutHyphens, withDots, withTwoHyphens, twice, twiceInTwoCases, withSpaceBehind, withSpaceBefore
        case withoutSpace, withSpaceBeforeColon, withTwoColons, namedInConnection, namedInConnectionAlone, folded
        case behindLF, behindCR, behindNUL, inAnothersValue, asHopOfProxy, withAnothersPrefix

        func fields(_ name: String, _ evil: String) -> String {
            switch self {
            case .asItIs: "\(name): \(evil)\r\n"
            case .inSmallLetters: "\(name.lowercased()): \(evil)\r\n"
            case .inCapitals: "\(name.uppercased()): \(evil)\r\n"
            case .inBoth: "\(SpoofedFieldTests.mixed(name)): \(evil)\r\n"
            case .withLowLines: "\(name.replacing("-", with: "_")): \(evil)\r\n"
            case .withLowLineBefore: "_\(name): \(evil)\r\n"
            case .withLowLineBehind: "\(name)_: \(evil)\r\n"
            case .withoutHyphens: "\(name.replacing("-", with: "")): \(evil)\r\n"
            case .withDots: "\(name.replacing("-", with: ".")): \(evil)\r\n"
            case .withTwoHyphens: "\(name.replacing("-", with: "--"))-: \(evil)\r\n"
            case .twice: "\(name): \(evil)\r\n\(name): \(evil)\r\n"
            case .twiceInTwoCases: "\(name): \(evil)\r\n\(name.lowercased()): \(evil)\r\n"
            case .withSpaceBehind: "\(name): \(evil) \t \r\n"
            case .withSpaceBefore: "\(name):\t  \(evil)\r\n"
            case .withoutSpace: "\(name):\(evil)\r\n"
            case .withSpaceBeforeColon: "\(name) : \(evil)\r\n"
            case .withTwoColons: "\(name):: \(evil)\r\n"
            case .namedInConnection: "Connection: \(name)\r\n\(name): \(evil)\r\n"
            case .namedInConnectionAlone: "Connection: close, \(name)\r\n"
            case .folded: "X: a\r\n \(name): \(evil)\r\n"
            case .behindLF: "X: a\n\(name): \(evil)\r\n"
            case .behindCR: "X: a\r\(name): \(evil)\r\n"
            case .behindNUL: "X: a\0\(name): \(evil)\r\n"
            case .inAnothersValue: "X: a%0d%0a\(name): \(evil)\r\n"
            case .asHopOfProxy: "Forwarded: for=x;\(name)=\(evil)\r\n"
            case .withAnothersPrefix: "X-\(name): \(evil)\r\n"
            }
        }
    }

    /// The variants that exist in HTTP/2.
    enum StreamWay: String, CaseIterable {
        case asItIs, inCapitals, withLowLines, withoutHyphens, twice, withSpaceBehind, withLineBehind, asNameWithLine
        case asPseudoField, namedInConnection

        func fields(_ name: String, _ evil: String) -> [(String, String)] {
            let small = name.lowercased()
            switch self {
            case .asItIs: return [(small, evil)]
            case .inCapitals: return [(name, evil)]
            case .withLowLines: return [(small.replacing("-", with: "_"), evil)]
            case .withoutHyphens: return [(small.replacing("-", with: ""), evil)]
            case .twice: return [(small, evil), (small, evil)]
            case .withSpaceBehind: return [(small, "\(evil) ")]
            case .withLineBehind: return [("x", "a\r\n\(name): \(evil)")]
            case .asNameWithLine: return [("x\r\n\(small)", evil)]
            case .asPseudoField: return [(":\(small)", evil)]
            case .namedInConnection: return [("connection", name), (small, evil)]
            }
        }
    }

    fileprivate static func mixed(_ name: String) -> String {
        String(
            name.enumerated().map {
                $0.offset % 2 == 0 ? Character($0.element.lowercased()) : Character($0.element.uppercased())
            })
    }

    static let credentials: [UpstreamCredential] = [
        .mirror,
        .header(userField: "X-Gateway-User", secretField: "X-Gateway-Secret", secret: Secret("shared secret".utf8)),
    ]

    /// The fields that the backend must receive, compared by the letters and digits of their names.
    private func expected(_ credential: UpstreamCredential, call: String) -> [String: String] {
        var expected = [
            "host": "backend.test", "accept": "application/json", "xrequestid": call,
            "contenttype": "application/json; charset=utf-8",
        ]
        switch credential {
        case .header:
            expected["xgatewayuser"] = "alice"
            expected["xgatewaysecret"] = "shared secret"
        case .mirror, .sharedPassword:
            expected["authorization"] = "Basic YWxpY2U6YWxpY2U="
        }
        return expected
    }

    private func check(
        _ request: CapturedRequest, _ credential: UpstreamCredential, call: String?, _ comment: String
    ) throws {
        let text = String(decoding: request.bytes, as: UTF8.self)
        let evil = ["evil", "zxzpb", "0af7651916cd"]
        #expect(evil.allSatisfy { !text.lowercased().contains($0) }, "\(comment): \(text)")
        var said: [String: [String]] = [:]
        for field in request.fields {
            said[field.name.lowercased().filter { $0.isLetter || $0.isNumber }, default: []].append(field.value)
        }
        // The gateway generates a new trace for each call.
        let traces = said.removeValue(forKey: "traceparent")
        #expect(traces?.count == 1, "\(comment)")
        var expected = expected(credential, call: try #require(call, "\(comment)"))
        expected["contentlength"] = "\(request.body.count)"
        #expect(said == expected.mapValues { [$0] }, "\(comment)")
    }

    @Test("No spoofed field reaches the backend over HTTP/1.1")
    func noSpoofedFieldReachesTheBackendOverHTTP11() async throws {
        var tried = 0
        for credential in Self.credentials {
            try await EdgeFixture.run { _ in
            } adjust: {
                $0.upstreams[0].credential = credential
            } _: { bench in
                for (name, evil) in Self.names {
                    for way in Way.allCases {
                        tried += 1
                        try await spoof(
                            bench, credential, EdgeFixture.send(way.fields(name, evil)), "\(name) \(way)")
                    }
                    tried += 2
                    let chunked = EdgeFixture.send().replacing(
                        EdgeFixture.message, with: "Transfer-Encoding: chunked\r\n\r\n")
                    try await spoof(
                        bench, credential, chunked + "4\r\n\"hi\"\r\n0\r\n\(name): \(evil)\r\n\r\n",
                        "\(name) in trailers")
                    try await spoof(
                        bench, credential, chunked + "4;\(name)=\(evil)\r\n\"hi\"\r\n0\r\n\r\n",
                        "\(name) in a chunk's extension")
                }
            }
        }
        #expect(tried >= 400)
    }

    /// At most one response has status 200. In that case the backend has received exactly one request, in the gateway's
    /// form.
    private func spoof(
        _ bench: EdgeFixture, _ credential: UpstreamCredential, _ text: String, _ comment: String
    ) async throws {
        let before = bench.gateway.backend.requests.count
        let answers = try await bench.exchange(text)
        #expect(answers.statuses.count == 1, "\(comment): \(answers.text)")
        let after = bench.gateway.backend.requests.dropFirst(before)
        #expect(after.count == (answers.statuses.first == 200 ? 1 : 0), "\(comment)")
        for request in after { try check(request, credential, call: answers.field("X-Request-Id"), comment) }
        #expect(bench.gateway.backend.unreadable.isEmpty)
    }

    @Test("No spoofed field reaches the backend over HTTP/2")
    func noSpoofedFieldReachesTheBackendOverHTTP2() async throws {
        for credential in Self.credentials {
            try await EdgeFixture.run {
                $0.supportsHTTP2 = true
            } adjust: {
                $0.upstreams[0].credential = credential
            } _: { bench in
                for (name, evil) in Self.names {
                    let client = try await FrameClient.connect(
                        to: bench.listener.localAddress, group: EdgeFixture.group)
                    for (index, way) in StreamWay.allCases.enumerated() {
                        let stream = UInt32(2 * index + 1)
                        try await spoof(
                            bench, credential, client, stream, way.fields(name, evil), [], "\(name) \(way)")
                    }
                    try await spoof(
                        bench, credential, client, 99, [], [(name.lowercased(), evil)], "\(name) in trailers")
                    try await client.channel.close()
                }
            }
        }
    }

    private func spoof(
        _ bench: EdgeFixture, _ credential: UpstreamCredential, _ client: FrameClient, _ stream: UInt32,
        _ more: [(String, String)], _ trailers: [(String, String)], _ comment: String
    ) async throws {
        let before = bench.gateway.backend.requests.count
        let fields =
            HTTP2Fixture.post("/api/notifications?pns=apns&to_tag=bob")
            + [("authorization", "Bearer alices-token"), ("content-type", "application/json")] + more
        try await client.send(.headers(stream, fields, end: false), .data(stream, "\"hi\"", end: trailers.isEmpty))
        if !trailers.isEmpty { try await client.send(.headers(stream, trailers)) }
        let answer = await client.answer(on: stream)
        let after = bench.gateway.backend.requests.dropFirst(before)
        #expect(after.count == (answer.status == 200 ? 1 : 0), "\(comment): \(answer)")
        for request in after { try check(request, credential, call: answer.fields["x-request-id"], comment) }
    }
}
