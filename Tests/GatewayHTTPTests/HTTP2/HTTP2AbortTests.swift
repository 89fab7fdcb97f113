import Gateway
import GatewayCore
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import GatewayHTTP

/// Tests that requests which clients abort, and requests which the gateway rejects, do not affect other streams of
/// their connection, whatever is still on its way (RFC 9113, sections 5.1 and 5.4).
@Suite struct HTTP2AbortTests {
    typealias Frame = FrameClient.Frame

    /// Holds requests for `/slow` and records the paths of all requests.
    private final class Calls: Sendable {
        let gate = Gate()
        let paths = Mutex<[String]>([])

        var serving: ClosureResponder {
            ClosureResponder { request in
                let path = String(buffer: request.path)
                self.paths.withLock { $0.append(path) }
                if path == "/slow" { await self.gate.pass() }
                return Response(status: 200, body: Array(path.utf8))
            }
        }
    }

    private static func proxied(
        _ serving: any RequestResponder = ClosureResponder.echo
    ) throws -> EmbeddedHTTP2Connection {
        let connection = try EmbeddedHTTP2Connection(serving) {
            $0.trustedProxies = TrustedProxies(proxies: ["127.0.0.1"].compactMap(AddressRange.init))
        }
        try connection.begin()
        return connection
    }

    private static func get(_ path: String, from client: String? = nil) -> [(String, String)] {
        HTTP2Fixture.get(path) + (client.map { [("x-forwarded-for", $0)] } ?? [])
    }

    private static func post(_ path: String, from client: String? = nil) -> [(String, String)] {
        HTTP2Fixture.post(path) + (client.map { [("x-forwarded-for", $0)] } ?? [])
    }

    /// Sends frames, and lets the turns of the loop pass that they wait for.
    private static func send(_ frames: [Frame], on connection: EmbeddedHTTP2Connection) throws {
        try connection.send(bytes: frames.flatMap(\.bytes))
        while connection.shared.turns.waitingBytes > 0 { connection.loop.advanceTime(by: TurnScheduler.pause) }
    }

    /// HAProxy sends such a frame for a request that was aborted before it got a stream.
    @Test("A reset of stream 0 ends the connection of one client, and not that of a proxy", arguments: [false, true])
    func resetOfStreamZero(_ isProxied: Bool) throws {
        let connection = try isProxied ? Self.proxied() : EmbeddedHTTP2Connection()
        if !isProxied { try connection.begin() }
        try Self.send([.reset(0), .headers(1, Self.get("/a")), .reset(0), .headers(3, Self.get("/b"))], on: connection)
        #expect(connection.isOpen == isProxied)
        if isProxied { #expect(try connection.written() == ["200 on 1", "/a on 1", "200 on 3", "/b on 3"]) }
    }

    @Test("A reset of stream 0 from a proxy may arrive in any pieces")
    func resetOfStreamZeroInPieces() throws {
        let frames: [Frame] = [.reset(0), .ping, .reset(0), .headers(1, Self.get("/a"))]
        let bytes = frames.flatMap(\.bytes)
        for split in 1..<bytes.count {
            for end in split..<min(split + 9, bytes.count) {
                let connection = try Self.proxied()
                for piece in [bytes[..<split], bytes[split..<end], bytes[end...]] {
                    try connection.receive(Array(piece))
                }
                try Self.send([], on: connection)
                #expect(try connection.isOpen && connection.written() == ["200 on 1", "/a on 1"], "\(split), \(end)")
            }
        }
    }

    @Test("Aborted requests among served ones do not end the connection", arguments: [false, true])
    func abortsAmongServedRequests(_ isProxied: Bool) throws {
        let connection = try isProxied ? Self.proxied() : EmbeddedHTTP2Connection()
        if !isProxied { try connection.begin() }
        var (stream, served): (UInt32, Int) = (1, 0)
        for _ in 0..<210 {
            try Self.send((0..<16).map { .headers(stream + 2 * $0, Self.get("/")) }, on: connection)
            served += try connection.written().count { $0.hasPrefix("200") }
            stream += 32
            try Self.send([.headers(stream, Self.post("/"), end: false), .reset(stream), .ping], on: connection)
            #expect(try connection.written() == [])
            stream += 2
        }
        #expect(served == 3360)
        #expect(connection.isOpen)
    }

    @Test("GOAWAY after a flood names the last stream whose call has begun, and that call gets its response")
    func aFloodDuringACall() throws {
        let calls = Calls()
        let connection = try EmbeddedHTTP2Connection(calls.serving)
        try connection.begin()
        try connection.send(.headers(1, Self.get("/slow")))
        try Self.send(Array(repeating: .ping, count: 300), on: connection)
        #expect(try connection.written() == ["goaway after 1 by 11"])
        #expect(connection.isOpen)
        try Self.send([.headers(3, Self.get("/late"))], on: connection)
        calls.gate.open()
        #expect(try connection.written() == ["200 on 1", "/slow on 1"])
        #expect(!connection.isOpen)
        #expect(calls.paths.withLock { $0 } == ["/slow"])
    }

    static let connectionErrors: [(String, [UInt8])] = [
        ("DATA on stream 0", Frame.data(0, "x").bytes),
        ("a stream number that is too small", Frame.headers(1, get("/")).bytes + Frame.headers(1, get("/")).bytes),
        ("an even stream number", Frame.headers(4, get("/")).bytes),
        ("a header block that cannot be decoded", Frame(type: 1, flags: 5, stream: 5, payload: [0xFF, 0xFF]).bytes),
        ("a window that overflows", Frame.windowUpdate(0, 0x7FFF_FFFF).bytes),
        ("a frame of the wrong size", Frame(type: 6, payload: [1]).bytes),
    ]

    @Test("After a connection error, calls in progress get their responses", arguments: connectionErrors.map(\.0))
    func aConnectionErrorDuringACall(_ name: String) throws {
        let calls = Calls()
        let connection = try EmbeddedHTTP2Connection(calls.serving)
        try connection.begin()
        try connection.send(.headers(1, Self.get("/")), .headers(3, Self.get("/slow")))
        _ = try connection.written()
        let bytes = Self.connectionErrors.first { $0.0 == name }?.1 ?? []
        try connection.send(bytes: bytes)
        let events = try connection.written()
        #expect(events.count == 1 && events[0].hasPrefix("goaway after 3 by "), "\(events)")
        calls.gate.open()
        #expect(try connection.written() == ["200 on 3", "/slow on 3"])
        #expect(!connection.isOpen)
    }

    /// A request that is rejected before its client has sent all of it.
    struct Rejected: Sendable, CustomTestStringConvertible {
        var name: String
        var fields: [(String, String)] = []
        var body: [String] = []

        var testDescription: String { name }
    }

    static let rejected: [Rejected] = [
        Rejected(name: "417", fields: [("expect", "miracles")]),
        Rejected(name: "413 at the head", fields: [("content-length", "99999")]),
        Rejected(
            name: "413 at the body", body: [String(repeating: "x", count: 16_000), String(repeating: "x", count: 999)]),
        Rejected(name: "400", fields: [("host", "a b")]),
        Rejected(name: "431", fields: (0..<101).map { ("x-\($0)", "v") }),
        Rejected(name: "malformed", fields: [("connection", "close")]),
        Rejected(name: "a body that is too long", fields: [("content-length", "1")], body: ["xx"]),
        Rejected(name: "a body that is too short", fields: [("content-length", "5")], body: ["xx"]),
    ]

    /// The frames that follow a rejected request.
    static let remainders: [[Frame]] = [
        [], [.headers(1, [("trailer", "x")])], [.data(1, "x", end: false), .headers(1, [("trailer", "x")])],
        [.data(1, "x")], [.reset(1)], [.data(1, "x", end: false), .reset(1), .windowUpdate(1, 1)],
    ]

    @Test("What is on its way after a rejection affects no other stream", arguments: rejected, [0, 1, 3, 40])
    func theRestOfARejectedRequest(_ rejected: Rejected, _ seconds: Int64) throws {
        for isProxied in [false, true] {
            for remainder in Self.remainders {
                let calls = Calls()
                let connection = try isProxied ? Self.proxied(calls.serving) : EmbeddedHTTP2Connection(calls.serving)
                if !isProxied { try connection.begin() }
                let body = rejected.body.map { Frame.data(1, $0, end: false) }
                try Self.send([.headers(1, Self.post("/") + rejected.fields, end: false)] + body, on: connection)
                try connection.send(.headers(3, Self.get("/slow")))
                connection.loop.advanceTime(by: .seconds(seconds))
                try Self.send(remainder, on: connection)
                try connection.send(.headers(5, Self.get("/after")))
                calls.gate.open()
                let events = try connection.written()
                let note = Comment(rawValue: "\(remainder): \(events)")
                #expect(events.contains("200 on 3") && events.contains("200 on 5"), note)
                #expect(!events.contains { $0.hasPrefix("goaway") }, note)
                #expect(connection.isOpen, note)
                // The number of streams that the client may open is not affected.
                if seconds > 32 {
                    let further = (0..<100).map { Frame.headers(2 * $0 + 7, Self.get("/slow")) }
                    try Self.send(further, on: connection)
                    #expect(!(try connection.written()).contains { $0.hasPrefix("reset") }, note)
                    while calls.gate.count > 0 {
                        calls.gate.open()
                        connection.loop.run()
                    }
                }
            }
        }
    }

    @Test("A rejected request gets its response at once, and RST_STREAM after two seconds")
    func aRejectedRequestIsResetLater() throws {
        let connection = try EmbeddedHTTP2Connection()
        try connection.begin()
        try connection.send(.headers(1, Self.post("/") + [("expect", "miracles")], end: false))
        #expect(try connection.written() == ["417 on 1", "expectation-failed on 1"])
        connection.loop.advanceTime(by: .milliseconds(1999))
        #expect(try connection.written() == [])
        connection.loop.advanceTime(by: .milliseconds(1))
        #expect(try connection.written() == ["reset 1 by 0"])
    }

    @Test("A stream beyond the limit is refused, before and after the client acknowledges the limit")
    func streamsBeyondTheLimit() throws {
        for (acknowledges, isComplete) in [(false, false), (false, true), (true, false), (true, true)] {
            let connection = try EmbeddedHTTP2Connection()
            try connection.begin()
            if acknowledges { try connection.send(.settingsAck) }
            let settings = try connection.frames().filter { $0.type == 4 && $0.flags == 0 }
            #expect(settings.count == 1 && settings[0].payload.starts(with: [0, 3, 0, 0, 0, 100, 0, 4]))
            let open = (0..<100).map { Frame.headers(2 * $0 + 1, Self.post("/"), end: false) }
            try Self.send(open + [.headers(201, Self.post("/"), end: isComplete)], on: connection)
            #expect(try connection.written() == ["reset 201 by 7"])
            if !isComplete {
                try Self.send([.data(201, "x", end: false), .headers(201, [("t", "x")])], on: connection)
            }
            try Self.send((0..<100).map { .data(2 * $0 + 1, "x") }, on: connection)
            #expect(try connection.written().count { $0.hasPrefix("200") } == 100)
            try connection.send(.headers(203, Self.get("/")))
            #expect(try connection.written() == ["200 on 203", "/ on 203"])
        }
    }

    @Test(
        "A field list that a proxy passes on although it is larger than announced gets a response",
        arguments: [4, 5, 8])
    func aLargeFieldList(_ count: Int) throws {
        let connection = try Self.proxied()
        let large = (0..<count).map { ("x-large-\($0)", String(repeating: "v", count: 15_000)) }
        try Self.send(
            [.headers(1, Self.get("/"), endsHead: false)]
                + large.enumerated().map { .continuation(1, [$1], endsHead: $0 == count - 1) }, on: connection)
        #expect(try connection.written() == ["431 on 1", "headers-too-large on 1"])
        try connection.send(.headers(3, Self.get("/")))
        #expect(try connection.written() == ["200 on 3", "/ on 3"])
    }

    @Test("A client behind a proxy that aborts too much is rejected, and others on the connection are not")
    func proxiedClients() throws {
        let kinds: [(String, (UInt32) -> [Frame])] = [
            ("resets", { [.headers($0, Self.get("/slow", from: "192.0.2.1")), .reset($0)] }),
            (
                "resets of incomplete requests",
                {
                    [.headers($0, Self.post("/", from: "192.0.2.1"), end: false), .reset($0)]
                }
            ),
            (
                "bodies of the wrong length",
                {
                    [
                        .headers($0, Self.post("/", from: "192.0.2.1") + [("content-length", "1")], end: false),
                        .data($0, "xx", end: false), .headers($0, [("trailer", "x")]),
                    ]
                }
            ),
            (
                "small pieces",
                {
                    [.headers($0, Self.post("/", from: "192.0.2.1"), end: false)]
                        + Array(repeating: .data($0, "x", end: false), count: 8) + [.reset($0)]
                }
            ),
        ]
        for (name, event) in kinds {
            let calls = Calls()
            let connection = try Self.proxied(calls.serving)
            var stream: UInt32 = 1
            for _ in 0..<500 {
                try Self.send(event(stream), on: connection)
                stream += 2
                while calls.gate.count > 0 { calls.gate.open() }
            }
            #expect(!(try connection.written()).contains { $0.hasPrefix("goaway") }, "\(name)")
            try connection.send(.headers(stream, Self.get("/", from: "192.0.2.1")))
            #expect(try connection.written() == ["429 on \(stream)", "rate-limited on \(stream)"], "\(name)")
            let began = calls.paths.withLock { $0.count }
            #expect(began <= FrameAllowance.maximum + 20, "\(name)")
            for client in ["192.0.2.2", "2001:db8::1"] {
                stream += 2
                try connection.send(.headers(stream, Self.get("/", from: client)))
                #expect(try connection.written().first == "200 on \(stream)", "\(name)")
            }
            // A part of the allowance returns with time.
            connection.loop.advanceTime(by: .seconds(1))
            stream += 2
            try connection.send(.headers(stream, Self.get("/", from: "192.0.2.1")))
            #expect(try connection.written().first == "200 on \(stream)", "\(name)")
        }
    }

    @Test("Rejected requests of a proxy's clients do not end the connection")
    func rejectedRequestsOfProxiedClients() throws {
        let connection = try Self.proxied()
        var stream: UInt32 = 1
        for number in 0..<1000 {
            let fields = Self.rejected[number % Self.rejected.count].fields
            let head = Frame.headers(stream, Self.post("/", from: "192.0.2.1") + fields, end: false)
            try Self.send([head, .headers(stream, [("trailer", "x")])], on: connection)
            stream += 2
        }
        #expect(!(try connection.written()).contains { $0.hasPrefix("goaway") })
        try connection.send(.headers(stream, Self.get("/", from: "192.0.2.2")))
        #expect(try connection.written().first == "200 on \(stream)")
    }

    @Test("A connection with many reset streams whose clients never end them shuts down without an error")
    func manyResetStreams() throws {
        let connection = try Self.proxied()
        connection.answersPings = true
        var (stream, events): (UInt32, [String]) = (1, [])
        for _ in 0..<10 where connection.isOpen {
            try Self.send(
                (0..<50).map { .headers(stream + 2 * $0, Self.post("/") + [("expect", "x")], end: false) },
                on: connection)
            stream += 100
            connection.loop.advanceTime(by: .seconds(2))
            events += try connection.written().filter { $0.hasPrefix("goaway") }
        }
        #expect(events.count == 2 && events[0] == "goaway after 2147483647 by 0" && events[1].hasSuffix("by 0"))
        #expect(!connection.isOpen)
    }
}
