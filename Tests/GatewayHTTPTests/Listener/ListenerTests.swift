import Foundation
import Gateway
import GatewayCore
import GatewayTesting
import NIOCore
import NIOPosix
import Synchronization
import Testing

@testable import GatewayHTTP

/// Tests of the listener over loopback sockets.
@Suite(.timeLimit(.minutes(1)))
struct ListenerTests {
    private static let group = MultiThreadedEventLoopGroup.singleton
    private static let close = "Connection: close\r\n"

    private func withListener(
        _ serving: any RequestResponder = ClosureResponder.echo,
        configure: (inout ListenerConfiguration) -> Void = { _ in },
        _ body: (Listener) async throws -> Void
    ) async throws {
        var configuration = ListenerConfiguration(address: .tcp(host: "127.0.0.1", port: 0))
        configure(&configuration)
        let listener = try await Listener.start(configuration: configuration, serving: serving, group: Self.group)
        do {
            try await body(listener)
        } catch {
            await listener.close()
            throw error
        }
        await listener.close()
    }

    private func connect(_ listener: Listener) async throws -> RawConnection {
        try await RawConnection.connect(to: listener.localAddress, group: Self.group)
    }

    private static func get(_ path: String, _ fields: String = "") -> String {
        "GET \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"
    }

    @Test("A connection stays open for further requests") func aConnectionStaysOpenForFurtherRequests() async throws {
        try await withListener { listener in
            #expect((listener.port ?? 0) > 0)
            let client = try await connect(listener)
            for path in ["/1", "/2", "/3"] {
                try await client.send(Self.get(path))
                let answer = await client.receive(endingWith: "\r\n\r\n\(path)")
                #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
                #expect(!answer.contains("Connection:"))
            }
            try await client.send(Self.get("/4", Self.close))
            let last = await client.receiveToEnd()
            #expect(last.contains("\r\n\(Self.close)\r\n/4"))
        }
    }

    @Test("A half-closed client gets all its responses") func aHalfClosedClientGetsAllItsResponses() async throws {
        try await withListener { listener in
            let client = try await connect(listener)
            try await client.send(Self.get("/1") + Self.get("/2") + "GET /3")
            try await client.closeOutput()
            let answers = await client.receiveToEnd()
            #expect(answers.contains("\r\n\r\n/1HTTP/1.1 200"))
            #expect(answers.hasSuffix("\r\n\r\n/2"))
        }
    }

    @Test("A fault gets one response even if the client continues to send")
    func aFaultGetsOneResponseEvenIfTheClientContinuesToSend() async throws {
        try await withListener { listener in
            let client = try await connect(listener)
            let rest = String(repeating: "x", count: 100_000)
            try? await client.send("GET / HTTP/1.1\nHost: a\r\n\r\n" + Self.get("/2") + rest)
            let answers = await client.receiveToEnd()
            #expect(answers.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
            #expect(answers.hasSuffix("\r\n\(Self.close)\r\nmalformed-request"))
        }
    }

    @Test("A large body in pieces arrives completely") func aLargeBodyInPiecesArrivesCompletely() async throws {
        let serving = ClosureResponder { Response(status: 200, body: Array($0.body.readableBytesView)) }
        try await withListener(serving) { listener in
            let client = try await connect(listener)
            let body = String((0..<16_384).map { Character(UnicodeScalar(UInt8(97 + $0 % 26))) })
            try await client.send("POST / HTTP/1.1\r\nHost: a\r\n\(Self.close)Content-Length: 16384\r\n\r\n")
            for start in stride(from: 0, to: body.count, by: 5000) {
                try await client.send(String(body.dropFirst(start).prefix(5000)))
            }
            #expect(await client.receiveToEnd().hasSuffix("\r\n\r\n\(body)"))
        }
    }

    @Test("The request pipeline stays on the loop of its connection")
    func theRequestPipelineStaysOnTheLoopOfItsConnection() async throws {
        let wrong = Mutex<[String]>([])
        let serving = ClosureResponder { request in
            guard let loop = MultiThreadedEventLoopGroup.currentEventLoop else {
                wrong.withLock { $0.append("not on a loop at first") }
                return Response(status: 200)
            }
            for tick in 0..<3 {
                await withCheckedContinuation { continuation in
                    Thread.detachNewThread { continuation.resume() }
                }
                if !loop.inEventLoop { wrong.withLock { $0.append("left its loop after await \(tick)") } }
            }
            return Response(status: 200, body: Array(request.path.readableBytesView))
        }
        try await withListener(serving) { listener in
            for path in ["/1", "/2", "/3", "/4"] {
                let client = try await connect(listener)
                try await client.send(Self.get(path, Self.close))
                #expect(await client.receiveToEnd().hasSuffix(path))
            }
        }
        #expect(wrong.withLock { $0 } == [])
    }

    @Test("A call completes after its client has left") func aCallCompletesAfterItsClientHasLeft() async throws {
        let (arrived, left, ended) = (Signal(), Signal(), Signal())
        let wasCancelled = Mutex(false)
        let serving = ClosureResponder { _ in
            arrived.raise()
            await left.wait()
            wasCancelled.withLock { $0 = Task.isCancelled }
            ended.raise()
            return Response(status: 200)
        }
        try await withListener(serving) { listener in
            let client = try await connect(listener)
            try await client.send(Self.get("/"))
            await arrived.wait()
            try await client.channel.close()
            left.raise()
            await ended.wait()
        }
        #expect(!wasCancelled.withLock { $0 })
    }

    @Test("A connection beyond the limit of an address is closed at once")
    func aConnectionBeyondTheLimitOfAnAddressIsClosedAtOnce() async throws {
        let configure: (inout ListenerConfiguration) -> Void = { $0.connections.perPeer = 2 }
        try await withListener(configure: configure) { listener in
            let clients = [try await connect(listener), try await connect(listener)]
            for client in clients {
                try await client.send(Self.get("/in"))
                _ = await client.receive(endingWith: "/in")
            }
            let refused = try await connect(listener)
            #expect(await refused.receiveToEnd() == "")
            // A released place can be used again.
            try await clients[0].send(Self.get("/last", Self.close))
            _ = await clients[0].receiveToEnd()
            try await clients[0].channel.close()
            try await retry {
                let next = try await connect(listener)
                try? await next.send(Self.get("/next", Self.close))
                return await next.receiveToEnd().hasSuffix("/next")
            }
        }
    }

    @Test("A drain completes calls in progress and closes other connections")
    func aDrainCompletesCallsInProgressAndClosesOtherConnections() async throws {
        let (arrived, mayAnswer) = (Signal(), Signal())
        let serving = ClosureResponder.holdingSlow(arrived, until: mayAnswer)
        try await withListener(serving) { listener in
            let (idle, busy) = (try await connect(listener), try await connect(listener))
            try await idle.send(Self.get("/idle"))
            _ = await idle.receive(endingWith: "/idle")
            try await busy.send(Self.get("/slow"))
            await arrived.wait()
            async let drained: Void = listener.drain(deadline: .now() + .seconds(30))
            #expect(await idle.receiveToEnd() == "")
            mayAnswer.raise()
            let answer = await busy.receiveToEnd()
            #expect(answer.contains(Self.close) && answer.hasSuffix("/slow"))
            try await busy.channel.close()
            await drained
            await #expect(throws: (any Error).self) { try await connect(listener) }
        }
    }

    @Test("The end of calls without a connection can be awaited")
    func theEndOfCallsWithoutAConnectionCanBeAwaited() async throws {
        let (arrived, mayAnswer) = (Signal(), Signal())
        let hasEnded = Mutex(false)
        let serving = ClosureResponder { _ in
            arrived.raise()
            await mayAnswer.wait()
            hasEnded.withLock { $0 = true }
            return Response(status: 200)
        }
        try await withListener(serving) { listener in
            let client = try await connect(listener)
            try await client.send(Self.get("/"))
            await arrived.wait()
            await listener.close()
            #expect(await client.receiveToEnd() == "")
            await listener.completeCalls(deadline: .now())
            #expect(!hasEnded.withLock { $0 })
            async let ended: Void = listener.completeCalls(deadline: .now() + .seconds(30))
            mayAnswer.raise()
            await ended
            #expect(hasEnded.withLock { $0 })
        }
    }

    @Test(
        "Credentials are accepted without TLS only on this machine",
        arguments: [
            ("127.0.0.1", false, true), ("0.0.0.0", false, false), ("0.0.0.0", true, true), ("::1", false, true),
        ])
    func credentialsAreAcceptedWithoutTLSOnlyOnThisMachine(
        _ host: String, _ allowed: Bool, _ expected: Bool
    ) async throws {
        let serving = ClosureResponder { Response(status: 200, body: Array("\($0.allowsCredentials) \($0.peer)".utf8)) }
        let configure: (inout ListenerConfiguration) -> Void = {
            $0.address = .tcp(host: host, port: 0)
            $0.allowsPlaintextCredentials = allowed
        }
        try await withListener(serving, configure: configure) { listener in
            let address = try SocketAddress(ipAddress: host == "::1" ? "::1" : "127.0.0.1", port: listener.port ?? 0)
            let client = try await RawConnection.connect(to: address, group: Self.group)
            try await client.send(Self.get("/", Self.close))
            #expect(await client.receiveToEnd().hasSuffix("\r\n\r\n\(expected) \(host == "::1" ? "::1" : "127.0.0.1")"))
        }
    }
}

/// Repeats an exchange with a listener until it succeeds, because a client cannot observe when the listener releases
/// the place of a closed connection. Each exchange awaits the listener's response, and the time limit of the suite ends
/// the loop.
func retry(_ exchange: () async throws -> Bool) async throws {
    while !(try await exchange()) { try Task.checkCancellation() }
}
