import Gateway
import GatewayCore
import GatewayTesting
import NIOCore
import NIOPosix
import Testing

@testable import GatewayHTTP

/// Tests of abusive HTTP/2 clients: each connection is closed within 250 events, and other clients are not affected.
@Suite(.timeLimit(.minutes(1)))
struct HTTP2FloodTests {
    typealias Frame = FrameClient.Frame

    struct Flood: Sendable, CustomTestStringConvertible {
        var name: String
        /// The frames before the flood.
        var start: [Frame] = []
        /// The frames of one event, numbered from 0.
        var event: @Sendable (UInt32) -> [Frame]

        var testDescription: String { name }
    }

    private static func odd(_ number: UInt32) -> UInt32 { 2 * number + 1 }

    static let floods: [Flood] = [
        Flood(name: "rapid reset") { [.headers(odd($0), HTTP2Fixture.get("/")), .reset(odd($0))] },
        Flood(name: "rapid reset of what is not complete") {
            [.headers(odd($0), HTTP2Fixture.post("/"), end: false), .reset(odd($0))]
        },
        Flood(name: "provoked resets, by windows of nothing") {
            [.headers(odd($0), HTTP2Fixture.post("/"), end: false), .windowUpdate(odd($0), 0)]
        },
        Flood(name: "provoked resets, by windows too wide") {
            [.headers(odd($0), HTTP2Fixture.post("/"), end: false), .windowUpdate(odd($0), 0x7FFF_FFFF)]
        },
        Flood(name: "provoked resets, by DATA behind the end") {
            [.headers(odd($0), HTTP2Fixture.get("/")), .data(odd($0), "x")]
        },
        Flood(name: "provoked resets, by lengths that are none") {
            [
                .headers(odd($0), HTTP2Fixture.post("/") + [("content-length", "1")], end: false),
                .data(odd($0), "xx"),
            ]
        },
        Flood(name: "requests that are none") {
            [.headers(odd($0), HTTP2Fixture.get("/") + [("connection", "close")])]
        },
        Flood(name: "requests that are refused") {
            [.headers(odd($0), HTTP2Fixture.get("/") + [("expect", "miracles")])]
        },
        Flood(name: "PING") { _ in [.ping] },
        Flood(name: "PING that is an answer to nothing") { _ in [.pingAck([0, 0, 0, 0, 0, 0, 0, 0])] },
        Flood(name: "SETTINGS") { _ in [.settings] },
        Flood(name: "SETTINGS that change") { [.setting(4, 65_535 + $0)] },
        Flood(name: "PRIORITY") { Frame(type: 2, stream: odd($0), payload: [0, 0, 0, 0, 1]).alone },
        Flood(name: "WINDOW_UPDATE") { _ in [.windowUpdate(0, 1)] },
        Flood(name: "frames of no known type") { _ in [Frame(type: 0xBE, payload: [1])] },
        Flood(name: "ALTSVC") { _ in [Frame(type: 0xA, stream: 0, payload: [0, 1, 65, 66])] },
        Flood(name: "empty DATA", start: [.headers(1, HTTP2Fixture.post("/"), end: false)]) { _ in
            [.data(1, "", end: false)]
        },
        Flood(name: "DATA of nothing but padding", start: [.headers(1, HTTP2Fixture.post("/"), end: false)]) { _ in
            [Frame(type: 0, flags: 8, stream: 1, payload: [3, 0, 0, 0])]
        },
        Flood(name: "DATA in crumbs", start: [.headers(1, HTTP2Fixture.post("/"), end: false)]) { _ in
            [.data(1, "x", end: false)]
        },
        Flood(name: "CONTINUATION", start: [.headers(1, HTTP2Fixture.get("/"), endsHead: false)]) { _ in
            [.continuation(1, [("x", "y")], endsHead: false)]
        },
        Flood(name: "empty CONTINUATION", start: [.headers(1, HTTP2Fixture.get("/"), endsHead: false)]) { _ in
            [.continuation(1, [], endsHead: false)]
        },
        Flood(name: "GOAWAY") { _ in [Frame(type: 7, payload: [0, 0, 0, 0, 0, 0, 0, 0])] },
    ]

    @Test("A flood is stopped within 250 events", arguments: floods)
    func aFloodIsStoppedWithin250Events(_ flood: Flood) async throws {
        try await HTTP2Fixture.run { bench in
            let honest = try await bench.connect()
            try await honest.send(.headers(1, HTTP2Fixture.get("/before")))
            #expect(await honest.answer(on: 1).status == 200)

            let attacker = try await bench.connect()
            let events = flood.start + (0..<250).flatMap(flood.event)
            // A write fails once the connection is closed.
            try? await attacker.send(events)
            // A client that is not disconnected gets a response to this request.
            try? await attacker.send(.headers(9999, HTTP2Fixture.get("/after")))
            _ = await attacker.goAwayAtEnd()
            #expect(await attacker.answer(on: 9999).status == nil)

            try await honest.send(.headers(3, HTTP2Fixture.get("/after")))
            #expect(await honest.answer(on: 3).body == "GET /after - ")
        }
    }

    @Test("A busy client is not disconnected") func aBusyClientIsNotDisconnected() async throws {
        try await HTTP2Fixture.run { bench in
            let client = try await bench.connect()
            for number in 0..<600 {
                let stream = UInt32(2 * number + 1)
                try await client.send(.headers(stream, HTTP2Fixture.post("/"), end: false), .data(stream, "x"))
                // HTTP libraries send these frames after a response.
                try await client.send(.windowUpdate(0, 20))
                if number % 10 == 0 { try await client.send(.ping) }
                #expect(await client.answer(on: stream).status == 200)
            }
        }
    }
}

extension FrameClient.Frame {
    fileprivate var alone: [Self] { [self] }
}
