import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOEmbedded
import NIOPosix
import Testing

@testable import GatewayHTTP

/// Tests of new connections when the limit is reached or nearly reached. The listener has several event loops.
@Suite(.timeLimit(.minutes(1)))
struct EvictionTests {
    private static let group = MultiThreadedEventLoopGroup.singleton

    private static func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nHost: a\r\n\r\n" }

    /// Runs a listener with the given connection limit.
    private func run(
        total: Int, tls: TestCertificate? = nil, http2: Bool = false, group: MultiThreadedEventLoopGroup = Self.group,
        _ serving: any RequestResponder = ClosureResponder.echo,
        _ body: (Listener, ConnectionLimit) async throws -> Void
    ) async throws {
        var configuration = ListenerConfiguration(address: .tcp(host: "127.0.0.1", port: 0))
        configuration.connections.total = total
        configuration.tls = try tls.map { try ServerTLS($0.identity()) }
        configuration.supportsHTTP2 = http2
        let connectionLimit = ConnectionLimit(configuration.connections)
        let listener = try await Listener.start(
            configuration: configuration, serving: serving, group: group, connectionLimit: connectionLimit)
        do {
            try await body(listener, connectionLimit)
        } catch {
            await listener.close()
            throw error
        }
        await listener.close()
    }

    private func connect(_ listener: Listener, tls: TestCertificate?) async throws -> RawConnection {
        if tls == nil { return try await RawConnection.connect(to: listener.localAddress, group: Self.group) }
        return try await RawConnection.connect(to: listener.localAddress, offering: TLSOffer(), group: Self.group)
            .client
    }

    @Test(
        "A new connection closes an idle one when the limit is reached", arguments: [TestCertificate?.none, .one],
        [false, true])
    func aNewConnectionClosesAnIdleOneWhenTheLimitIsReached(_ tls: TestCertificate?, _ http2: Bool) async throws {
        try await run(total: 1, tls: tls, http2: http2) { listener, connectionLimit in
            var before: RawConnection?
            // Each connection is on the next event loop, so that the idle one is first on the same loop and then on
            // another.
            for number in 0..<8 {
                let client = try await connect(listener, tls: tls)
                try await client.send(Self.get("/\(number)"))
                #expect(await client.receive(endingWith: "/\(number)").hasSuffix("/\(number)"))
                if let before { #expect(await before.receiveToEnd() == "") }
                before = client
            }
            #expect(connectionLimit.evicted.value == 7)
            #expect(connectionLimit.refused.value == 0)
        }
    }

    @Test("An idle HTTP/2 connection gets GOAWAY", arguments: [TestCertificate?.none, .one])
    func anIdleHTTP2ConnectionGetsGOAWAY(_ tls: TestCertificate?) async throws {
        try await run(total: 1, tls: tls, http2: true) { listener, connectionLimit in
            let bench = HTTP2Fixture(listener: listener)
            func connect() async throws -> FrameClient {
                tls == nil ? try await bench.connect() : try await bench.connectByTLS(protocols: ["h2"])
            }
            let first = try await connect()
            try await first.send(.headers(1, HTTP2Fixture.get("/first")))
            #expect(await first.answer(on: 1).status == 200)
            let second = try await connect()
            try await second.send(.headers(1, HTTP2Fixture.get("/second")))
            #expect(await second.answer(on: 1).status == 200)
            #expect(await first.goAwayAtEnd() == 0)
            #expect(connectionLimit.evicted.value == 1)
        }
    }

    @Test("A connection with a call in progress is not closed for a new one", arguments: [false, true])
    func aConnectionWithACallInProgressIsNotClosedForANewOne(_ http2: Bool) async throws {
        let (arrived, mayAnswer) = (Signal(), Signal())
        let serving = ClosureResponder { _ in
            arrived.raise()
            await mayAnswer.wait()
            return Response(status: 200, body: Array("done".utf8))
        }
        try await run(total: 1, http2: http2, serving) { listener, connectionLimit in
            let (first, second): (RawConnection?, FrameClient?)
            if http2 {
                (first, second) = (nil, try await HTTP2Fixture(listener: listener).connect())
                try await second?.send(.headers(1, HTTP2Fixture.get("/")))
            } else {
                (first, second) = (try await connect(listener, tls: nil), nil)
                try await first?.send(Self.get("/"))
            }
            await arrived.wait()
            for _ in 0..<4 { #expect(await (try connect(listener, tls: nil)).receiveToEnd() == "") }
            mayAnswer.raise()
            if let first { #expect(await first.receive(endingWith: "done").hasPrefix("HTTP/1.1 200")) }
            if let second { #expect(await second.answer(on: 1).body == "done") }
            #expect(connectionLimit.evicted.value == 0)
            #expect(connectionLimit.refused.value == 4)
        }
    }

    @Test("A connection that was just accepted is not closed for a new one")
    func aConnectionThatWasJustAcceptedIsNotClosedForANewOne() async throws {
        // Only connections on the same event loop are admitted in the order in which they were accepted.
        let oneLoop = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        try await run(total: 1, group: oneLoop) { listener, connectionLimit in
            let first = try await connect(listener, tls: nil)
            #expect(await (try connect(listener, tls: nil)).receiveToEnd() == "")
            try await first.send(Self.get("/a"))
            #expect(await first.receive(endingWith: "/a").hasSuffix("/a"))
            #expect(connectionLimit.evicted.value == 0)
        }
        try await oneLoop.shutdownGracefully()
    }

    @Test("A peer at its own limit does not close the connections of others")
    func aPeerAtItsOwnLimitDoesNotCloseTheConnectionsOfOthers() {
        var limits = ListenerConfiguration.Connections()
        limits.perPeer = 1
        limits.total = 1
        let connectionLimit = ConnectionLimit(limits)
        let peer = Peer(address: .v4(1), text: "")
        #expect(connectionLimit.admit(peer) == .admittedNearlyFull)
        #expect(connectionLimit.admit(peer) == .tooManyOfPeer)
        #expect(connectionLimit.admit(Peer(address: .v4(2), text: "")) == .full)
    }

    @Test("A connection that is being closed counts as free") func aConnectionThatIsBeingClosedCountsAsFree() {
        var limits = ListenerConfiguration.Connections()
        limits.total = 10
        let connectionLimit = ConnectionLimit(limits)
        let peers = (0..<11).map { Peer(address: .v4($0), text: "") }
        for peer in peers[..<9] { #expect(connectionLimit.admit(peer) == .admitted) }
        #expect(!connectionLimit.isNearlyFull)
        #expect(connectionLimit.admit(peers[9]) == .admittedNearlyFull)
        #expect(connectionLimit.isNearlyFull)
        #expect(connectionLimit.admit(peers[10]) == .full)
        connectionLimit.recordEviction()
        #expect(!connectionLimit.isNearlyFull)
        #expect(connectionLimit.admit(peers[10]) == .admittedNearlyFull)
        #expect(connectionLimit.admit(peers[10]) == .full)
        connectionLimit.release(peers[0])
        #expect(connectionLimit.admit(peers[0]) == .full)
        connectionLimit.release(peers[1])
        #expect(!connectionLimit.isNearlyFull)
    }

    @Test("The idle time is a quarter while the limit is nearly reached")
    func theIdleTimeIsAQuarterWhileTheLimitIsNearlyReached() throws {
        var limits = ListenerConfiguration.Connections()
        limits.total = 1
        let connectionLimit = ConnectionLimit(limits)
        let get = Self.get("/a")
        func seconds(_ connection: EmbeddedConnection) throws -> Int {
            try connection.send(get)
            #expect(try connection.answers() == ["200 /a"])
            var seconds = 0
            while connection.isOpen, seconds < 100 {
                connection.loop.advanceTime(by: .seconds(1))
                seconds += 1
            }
            return seconds
        }
        #expect(try seconds(EmbeddedConnection { $0.connectionLimit = connectionLimit }) == 60)
        #expect(connectionLimit.admit(nil) == .admittedNearlyFull)
        #expect(try seconds(EmbeddedConnection { $0.connectionLimit = connectionLimit }) == 15)
        let http2 = try EmbeddedHTTP2Connection { $0.connectionLimit = connectionLimit }
        http2.answersPings = true
        try http2.begin()
        try http2.send(.headers(1, HTTP2Fixture.get("/a")))
        #expect(try http2.written() == ["200 on 1", "/a on 1"])
        http2.loop.advanceTime(by: .seconds(14))
        #expect(http2.isOpen)
        http2.loop.advanceTime(by: .seconds(1))
        #expect(try http2.written() == ["goaway after 2147483647 by 0", "goaway after 1 by 0"])
        #expect(!http2.isOpen)
    }
}
