import GatewayCore
import GatewayTesting
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// Tests of HTTP/2 over loopback sockets, frame by frame.
@Suite(.timeLimit(.minutes(1)))
struct ListenerHTTP2Tests {
    typealias Frame = FrameClient.Frame

    @Test("A request without TLS gets a response") func aRequestWithoutTLSGetsAResponse() async throws {
        try await HTTP2Fixture.run { bench in
            let client = try await bench.connect()
            try await client.send(.headers(1, HTTP2Fixture.get("/one")))
            let answer = await client.answer(on: 1)
            #expect(answer.status == 200)
            #expect(answer.body == "GET /one - ")
            #expect(answer.fields["content-length"] == "11")
            #expect(answer.fields["x-request-id"]?.count == 32)
            #expect(answer.fields["date"] != nil)
            #expect(answer.fields["connection"] == nil)
        }
    }

    @Test("A request over TLS gets a response") func aRequestOverTLSGetsAResponse() async throws {
        try await HTTP2Fixture.run(tls: .one) { bench in
            let client = try await bench.connectByTLS(protocols: ["h2", "http/1.1"])
            try await client.send(.headers(1, HTTP2Fixture.get("/one")))
            #expect(await client.answer(on: 1).body == "GET /one - ")
        }
    }

    @Test("HTTP/1.1 is supported on the same listener", arguments: [TestCertificate?.none, .one])
    func http11IsSupportedOnTheSameListener(_ certificate: TestCertificate?) async throws {
        try await HTTP2Fixture.run(tls: certificate) { bench in
            let client: RawConnection
            if certificate == nil {
                client = try await RawConnection.connect(to: bench.listener.localAddress, group: HTTP2Fixture.group)
            } else {
                client = try await RawConnection.connect(
                    to: bench.listener.localAddress, offering: TLSOffer(), group: HTTP2Fixture.group
                ).client
            }
            for piece in ["P", "OST / HTTP/1.1\r\nHost: a\r\nContent-", "Length: 3\r\n\r\na", "bc"] {
                try await client.send(piece)
            }
            #expect(await client.receive(endingWith: "POST / - abc").hasPrefix("HTTP/1.1 200 OK"))
        }
    }

    @Test("Only HTTP/1.1 is supported unless configured otherwise")
    func onlyHTTP11IsSupportedUnlessConfiguredOtherwise() async throws {
        try await HTTP2Fixture.run(supportsHTTP2: false) { bench in
            let client = try await RawConnection.connect(to: bench.listener.localAddress, group: HTTP2Fixture.group)
            try await client.send(String(decoding: FrameClient.preface, as: UTF8.self))
            #expect(await client.receiveToEnd().hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
        }
    }

    @Test("The preface may arrive in pieces") func thePrefaceMayArriveInPieces() async throws {
        try await HTTP2Fixture.run { bench in
            let client = try await FrameClient.connect(
                to: bench.listener.localAddress, group: HTTP2Fixture.group, saysPreface: false)
            let frames = Frame.settings.bytes + Frame.headers(1, HTTP2Fixture.get("/")).bytes
            for byte in FrameClient.preface + frames { try await client.send(bytes: [byte]) }
            #expect(await client.answer(on: 1).status == 200)
        }
    }

    @Test(
        "A connection that closes after invalid frames does not affect others",
        arguments: [TestCertificate?.none, .one])
    func aConnectionThatClosesAfterInvalidFramesDoesNotAffectOthers(_ certificate: TestCertificate?) async throws {
        try await HTTP2Fixture.run(tls: certificate) { bench in
            func connect() async throws -> FrameClient {
                if certificate == nil { return try await bench.connect() }
                return try await bench.connectByTLS(protocols: ["h2"])
            }
            for _ in 0..<20 {
                let client = try await connect()
                try await client.send(bytes: [UInt8](repeating: 0xFF, count: 4096))
                try? await client.channel.close()
            }
            let client = try await connect()
            try await client.send(.headers(1, HTTP2Fixture.get("/after")))
            #expect(await client.answer(on: 1).body == "GET /after - ")
        }
    }

    @Test("Bodies arrive complete and streams are independent")
    func bodiesArriveCompleteAndStreamsAreIndependent() async throws {
        try await HTTP2Fixture.run { bench in
            let client = try await bench.connect()
            try await client.send(.headers(1, HTTP2Fixture.post("/slow"), end: false))
            try await client.send(.headers(3, HTTP2Fixture.post("/fast"), end: false))
            try await client.send(.data(3, "b"))
            #expect(await client.answer(on: 3).body == "POST /fast - b")
            for piece in ["a", "bc", ""] { try await client.send(.data(1, piece, end: piece.isEmpty)) }
            #expect(await client.answer(on: 1).body == "POST /slow - abc")
        }
    }

    @Test("Many bodies pass through the connection's flow-control window")
    func manyBodiesPassThroughTheConnectionsFlowControlWindow() async throws {
        // The responses are small enough for the client's window.
        try await HTTP2Fixture.run(ClosureResponder { _ in Response(status: 200) }) { bench in
            let client = try await bench.connect()
            let body = String(repeating: "x", count: 16_000)
            for number in 0..<20 {
                let stream = UInt32(2 * number + 1)
                try await client.send(.headers(stream, HTTP2Fixture.post("/"), end: false), .data(stream, body))
                #expect(await client.answer(on: stream).status == 200)
            }
        }
    }

    @Test("Trailers have no effect") func trailersDecideNothing() async throws {
        try await HTTP2Fixture.run { bench in
            let client = try await bench.connect()
            try await client.send(
                .headers(1, HTTP2Fixture.post("/"), end: false), .data(1, "abc", end: false),
                .headers(1, [("authorization", "Basic x"), ("content-type", "text/evil")]))
            #expect(await client.answer(on: 1).body == "POST / - abc")
        }
    }

    @Test("A client that expects 100-continue gets it") func aClientThatExpects100ContinueGetsIt() async throws {
        try await HTTP2Fixture.run { bench in
            let client = try await bench.connect()
            try await client.send(.headers(1, HTTP2Fixture.post("/") + [("expect", "100-continue")], end: false))
            let interim = await client.frame { $0.type == 1 }
            #expect(interim?.stream == 1)
            try await client.send(.data(1, "abc"))
            #expect(await client.answer(on: 1).body == "POST / - abc")
        }
    }

    @Test("Responses to HEAD have no body") func responsesToHEADHaveNoBody() async throws {
        try await HTTP2Fixture.run { bench in
            let client = try await bench.connect()
            try await client.send(.headers(1, [(":method", "HEAD")] + HTTP2Fixture.get("/").dropFirst()))
            let answer = await client.answer(on: 1)
            #expect(answer.status == 200 && answer.body.isEmpty && answer.fields["content-length"] != "0")
            try await client.send(.headers(3, HTTP2Fixture.get("/after")))
            #expect(await client.answer(on: 3).body == "GET /after - ")
        }
    }

    @Test("A request that exceeds a limit is rejected on its stream only")
    func aRequestThatExceedsALimitIsRejectedOnItsStreamOnly() async throws {
        try await HTTP2Fixture.run { bench in
            let client = try await bench.connect()
            // Settings apply once they are acknowledged.
            _ = await client.frame { $0.type == 4 && $0.flags == 0 }
            try await client.send(.settingsAck)
            let long = String(repeating: "x", count: 17_000)
            try await client.send(
                .headers(1, HTTP2Fixture.post("/"), end: false), .data(1, String(long.prefix(16_384)), end: false))
            try await client.send(.data(1, "x", end: false))
            #expect(await client.answer(on: 1).status == 413)
            try await client.send(.headers(3, HTTP2Fixture.post("/") + [("content-length", "99999")], end: false))
            #expect(await client.answer(on: 3).status == 413)
            try await client.send(.headers(5, HTTP2Fixture.get("/" + String(long.prefix(8200)))))
            #expect(await client.answer(on: 5).status == 414)
            let many = (0..<101).map { ("x-\($0)", "v") }
            try await client.send(.headers(7, HTTP2Fixture.get("/") + many))
            #expect(await client.answer(on: 7).status == 431)
            try await client.send(
                .headers(9, HTTP2Fixture.get("/"), endsHead: false),
                .continuation(9, [("x-long", String(long.prefix(8200)))], endsHead: false),
                .continuation(9, [("y-long", String(long.prefix(8200)))], endsHead: true))
            #expect(await client.answer(on: 9).status == 431)
            try await client.send(.headers(11, HTTP2Fixture.get("/still")))
            #expect(await client.answer(on: 11).body == "GET /still - ")
        }
    }

    @Test("The number of open streams is limited") func theNumberOfOpenStreamsIsLimited() async throws {
        let mayAnswer = Signal()
        let serving = ClosureResponder { _ in
            await mayAnswer.wait()
            return Response(status: 200)
        }
        try await HTTP2Fixture.run(serving) { bench in
            let client = try await bench.connect()
            for number in 0..<101 { try await client.send(.headers(UInt32(2 * number + 1), HTTP2Fixture.get("/"))) }
            #expect(await client.answer(on: 201).reset == 7)
            mayAnswer.raise()
            #expect(await client.answer(on: 199).status == 200)
        }
    }

    @Test("A stream reset signals its call") func aStreamResetSignalsItsCall() async throws {
        let (arrived, told) = (Signal(), Signal())
        let wasCancelled = Mutex(false)
        let serving = ClosureResponder { request in
            if String(buffer: request.path) == "/reset" {
                request.clientDisconnect?.watch { told.raise() }
                arrived.raise()
                await told.wait()
                wasCancelled.withLock { $0 = Task.isCancelled }
            }
            return Response(status: 200)
        }
        try await HTTP2Fixture.run(serving) { bench in
            let client = try await bench.connect()
            try await client.send(.headers(1, HTTP2Fixture.get("/reset")))
            await arrived.wait()
            try await client.send(.reset(1))
            await told.wait()
            try await client.send(.headers(3, HTTP2Fixture.get("/")))
            #expect(await client.answer(on: 3).status == 200)
        }
        #expect(!wasCancelled.withLock { $0 })
    }

    @Test("A lost connection signals its calls") func aLostConnectionSignalsItsCalls() async throws {
        let (arrived, told) = (Signal(), Signal())
        let serving = ClosureResponder { request in
            request.clientDisconnect?.watch { told.raise() }
            arrived.raise()
            await told.wait()
            return Response(status: 200)
        }
        try await HTTP2Fixture.run(serving) { bench in
            let client = try await bench.connect()
            try await client.send(.headers(1, HTTP2Fixture.get("/")))
            await arrived.wait()
            try await client.channel.close()
            await told.wait()
        }
    }

    @Test("A drain sends GOAWAY and completes calls in progress")
    func aDrainSendsGOAWAYAndCompletesCallsInProgress() async throws {
        let (arrived, mayAnswer) = (Signal(), Signal())
        let serving = ClosureResponder.holdingSlow(arrived, until: mayAnswer)
        try await HTTP2Fixture.run(serving) { bench in
            let client = try await bench.connect()
            try await client.send(.headers(1, HTTP2Fixture.get("/slow")))
            await arrived.wait()
            async let drained: Void = bench.listener.drain(deadline: .now() + .seconds(30))
            let first = await client.frame { $0.type == 7 }
            #expect(first?.payload == [0x7F, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0])
            let ping = await client.frame { $0.type == 6 }
            // A stream that the client opens before it has read GOAWAY is served.
            try await client.send(.headers(3, HTTP2Fixture.get("/late")), .pingAck(ping?.payload ?? []))
            let last = await client.frame { $0.type == 7 }
            #expect(last?.payload == [0, 0, 0, 3, 0, 0, 0, 0])
            try await client.send(.headers(5, HTTP2Fixture.get("/later")))
            #expect(await client.answer(on: 5).reset == 7)
            mayAnswer.raise()
            #expect(await client.answer(on: 1).body == "/slow")
            #expect(await client.goAwayAtEnd() == 0)
            #expect(await client.answer(on: 3).body == "/late")
            await drained
        }
    }
}
