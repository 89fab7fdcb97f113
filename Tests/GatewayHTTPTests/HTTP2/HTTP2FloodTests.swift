import Gateway
import GatewayCore
import GatewayTesting
import NIOCore
import NIOPosix
import Testing

@testable import GatewayHTTP

/// Clients of HTTP/2 that cost more than they are worth: each is cut within 250 events, and nobody else notices.
@Suite(.timeLimit(.minutes(1)))
struct HTTP2FloodTests {
    typealias Frame = FrameClient.Frame

    struct Flood: Sendable, CustomTestStringConvertible {
        var name: String
        /// What goes before.
        var start: [Frame] = []
        /// The frames of one event, which is counted from 0.
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

    @Test(arguments: floods) func isCutWithin250Events(_ flood: Flood) async throws {
        try await HTTP2Fixture.run { bench in
            let honest = try await bench.connect()
            try await honest.send(.headers(1, HTTP2Fixture.get("/before")))
            #expect(await honest.answer(on: 1).status == 200)

            let attacker = try await bench.connect()
            let events = flood.start + (0..<250).flatMap(flood.event)
            // It is cut on the way, and then there is nothing to write to.
            try? await attacker.send(events)
            // A client that is not cut hears of it after this.
            try? await attacker.send(.headers(9999, HTTP2Fixture.get("/after")))
            _ = await attacker.goAwayAtEnd()
            #expect(await attacker.answer(on: 9999).status == nil)

            try await honest.send(.headers(3, HTTP2Fixture.get("/after")))
            #expect(await honest.answer(on: 3).body == "GET /after - ")
        }
    }

    @Test func aBusyClientIsNotCut() async throws {
        try await HTTP2Fixture.run { bench in
            let client = try await bench.connect()
            for number in 0..<600 {
                let stream = UInt32(2 * number + 1)
                try await client.send(.headers(stream, HTTP2Fixture.post("/"), end: false), .data(stream, "x"))
                // What libraries do after an answer.
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
