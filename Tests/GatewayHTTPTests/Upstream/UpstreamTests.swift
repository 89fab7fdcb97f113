import GatewayCore
import NIOCore
import NIOPosix
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// The upstream against a scripted server: which connection a request takes, and what becomes of it.
@Suite(.timeLimit(.minutes(1)))
struct UpstreamTests {
    private static let ok = ScriptedServer.ok("yes", "Content-Type: text/plain\r\n")

    private func withUpstream(
        _ script: @escaping @Sendable (ScriptedServer.Seen) -> [ScriptedServer.Step], greeting: String? = nil,
        configure: (inout UpstreamConfiguration) -> Void = { _ in },
        _ body: (Upstream, ScriptedServer) async throws -> Void
    ) async throws {
        // One loop, so that there is one pool.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server = try await ScriptedServer.start(greeting: greeting, script)
        var configuration = UpstreamConfiguration(address: .tcp(host: "127.0.0.1", port: server.port))
        configure(&configuration)
        let upstream = try await Upstream.start(configuration: configuration, group: group)
        do {
            try await body(upstream, server)
        } catch {
            Issue.record(error)
        }
        await upstream.shutdown()
        await server.stop()
        try await group.shutdownGracefully()
    }

    private func send(
        _ upstream: Upstream, _ target: String = "/", repeatable: Bool = false, within: TimeAmount = .seconds(30)
    ) async -> String {
        let request = RecordedRequest(
            id: CallID(process: 1, number: 1), bytes: ByteBuffer(string: "GET \(target) HTTP/1.1\r\nHost: b\r\n\r\n"),
            mayBeRepeated: repeatable, deadline: .now() + within)
        return await upstream.exchange(request).word
    }

    @Test func aConnectionIsKeptAndUsedAgain() async throws {
        try await withUpstream { _ in
            [.write(Self.ok)]
        } _: { upstream, server in
            for _ in 0..<3 { #expect(await send(upstream) == "200 text/plain yes") }
            #expect(server.connections == 1)
            #expect(server.seen.map(\.request) == [1, 2, 3])
        }
    }

    @Test func theRequestIsWrittenAsItIs() async throws {
        try await withUpstream { seen in
            [.write(ScriptedServer.ok(seen.target))]
        } _: { upstream, _ in
            #expect(await send(upstream, "/a?b=c") == "200 - /a?b=c")
        }
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "200 - "),
        ("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", "200 - "),
        ("HTTP/1.1 204 No Content\r\n\r\nX", "204 - "),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nabc", "200 - a"),
    ])
    func aConnectionThatMustNotBeKeptIsNot(_ answer: String, _ word: String) async throws {
        try await withUpstream { _ in
            [.write(answer)]
        } _: { upstream, server in
            for _ in 0..<2 { #expect(await send(upstream) == word) }
            #expect(server.connections == 2)
        }
    }

    @Test func anAnswerThatEndsWithTheConnectionIsWhole() async throws {
        try await withUpstream { _ in
            [.write("HTTP/1.1 200 OK\r\n\r\nall"), .close]
        } _: { upstream, _ in
            #expect(await send(upstream) == "200 - all")
        }
    }

    @Test func bytesOnAnIdleConnectionEndIt() async throws {
        let mayFollow = Signal()
        let late = ScriptedServer.ok("forged")
        try await withUpstream { seen in
            seen.connection == 1 ? [.write(Self.ok), .wait(mayFollow), .write(late)] : [.write(Self.ok)]
        } _: { upstream, server in
            #expect(await send(upstream) == "200 text/plain yes")
            mayFollow.raise()
            try await waitUntil { server.closedConnections == 1 }
            #expect(await send(upstream) == "200 text/plain yes")
            #expect(server.connections == 2)
        }
    }

    @Test func aSendTakesNoConnectionThatWasIdleForLong() async throws {
        try await withUpstream { _ in
            [.write(Self.ok)]
        } configure: {
            $0.freshness = .nanoseconds(0)
        } _: {
            upstream, server in
            for _ in 0..<2 { #expect(await send(upstream) == "200 text/plain yes") }
            #expect(server.seen.map(\.connection) == [1, 2])
            // What may be repeated takes any, the last used first.
            #expect(await send(upstream, repeatable: true) == "200 text/plain yes")
            #expect(server.seen.map(\.connection) == [1, 2, 2])
        }
    }

    @Test func aFullPoolGivesUpAnOldConnectionForANewOne() async throws {
        try await withUpstream { _ in
            [.write(Self.ok)]
        } configure: {
            $0.freshness = .nanoseconds(0)
            $0.connections = 1
        } _: { upstream, server in
            for _ in 0..<3 { #expect(await send(upstream) == "200 text/plain yes") }
            #expect(server.connections == 3)
        }
    }

    @Test func anIdleConnectionIsClosedInTheEnd() async throws {
        try await withUpstream { _ in
            [.write(Self.ok)]
        } configure: {
            $0.idle = .milliseconds(1)
        } _: {
            upstream, server in
            #expect(await send(upstream) == "200 text/plain yes")
            try await waitUntil { server.closedConnections == 1 }
        }
    }

    @Test func aConnectionFoundClosedIsReplaced() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server = try await ScriptedServer.start { seen in
            seen.connection == 1 ? [.write(Self.ok), .close] : [.write(Self.ok)]
        }
        let upstream = try await Upstream.start(
            configuration: UpstreamConfiguration(address: .tcp(host: "127.0.0.1", port: server.port)), group: group)
        #expect(await send(upstream) == "200 text/plain yes")
        try await waitUntil { server.closedConnections == 1 }
        // The close is at the socket now; after two turns of the loop it has been seen.
        for _ in 0..<2 { try await group.next().submit {}.get() }
        #expect(await send(upstream) == "200 text/plain yes")
        #expect(server.seen.map(\.connection) == [1, 2])
        await upstream.shutdown()
        await server.stop()
        try await group.shutdownGracefully()
    }

    @Test func aSendThatDiedIsNotSentAgain() async throws {
        try await withUpstream { seen in
            seen.request == 2 ? [.close] : [.write(Self.ok)]
        } _: { upstream, server in
            #expect(await send(upstream) == "200 text/plain yes")
            #expect(await send(upstream).hasPrefix("broken"))
            #expect(server.seen.map(\.connection) == [1, 1])
            #expect(await send(upstream) == "200 text/plain yes")
        }
    }

    @Test func whatMayBeRepeatedIsRepeatedOnceOnANewConnection() async throws {
        try await withUpstream { seen in
            seen.request == 2 ? [.close] : [.write(Self.ok)]
        } _: { upstream, server in
            #expect(await send(upstream) == "200 text/plain yes")
            #expect(await send(upstream, repeatable: true) == "200 text/plain yes")
            #expect(server.seen.map(\.connection) == [1, 1, 2])
        }
    }

    @Test func aSecondDeathIsTheEnd() async throws {
        try await withUpstream { seen in
            seen.connection == 1 && seen.request == 1 ? [.write(Self.ok)] : [.close]
        } _: { upstream, server in
            #expect(await send(upstream) == "200 text/plain yes")
            #expect(await send(upstream, repeatable: true).hasPrefix("broken"))
            #expect(server.seen.map(\.connection) == [1, 1, 2])
        }
    }

    @Test func aNewConnectionThatDiesIsNoReasonToRepeat() async throws {
        try await withUpstream { _ in
            [.close]
        } _: { upstream, server in
            #expect(await send(upstream, repeatable: true).hasPrefix("broken"))
            #expect(server.seen.count == 1)
        }
    }

    @Test(arguments: [false, true])
    func anAnswerThatBreaksOffIsBroken(_ repeatable: Bool) async throws {
        try await withUpstream { seen in
            seen.request == 1
                ? [.write(Self.ok)] : [.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"), .close]
        } _: { upstream, server in
            #expect(await send(upstream) == "200 text/plain yes")
            #expect(await send(upstream, repeatable: repeatable).hasPrefix("broken"))
            #expect(server.seen.count == 2)
        }
    }

    @Test(arguments: [
        "nonsense\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10001\r\n",
        "HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "x", count: 65_537),
        "HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 20_000),
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    ])
    func anAnswerThatIsNoneIsBroken(_ answer: String) async throws {
        try await withUpstream { _ in
            [.write(answer)]
        } _: { upstream, server in
            #expect(await send(upstream).hasPrefix("broken"))
            try await waitUntil { server.closedConnections == 1 }
        }
    }

    @Test func anAnswerThatDoesNotComeInTimeEndsItsConnection() async throws {
        try await withUpstream { seen in
            seen.connection == 1 ? [.write("HTTP/1.1 200 OK\r\n")] : [.write(Self.ok)]
        } _: { upstream, server in
            #expect(await send(upstream, repeatable: true, within: .milliseconds(50)) == "timed out")
            try await waitUntil { server.closedConnections == 1 }
            #expect(await send(upstream) == "200 text/plain yes")
            #expect(server.connections == 2)
        }
    }

    @Test func nothingIsSentAfterTheDeadline() async throws {
        try await withUpstream { _ in
            [.write(Self.ok)]
        } _: { upstream, server in
            #expect(await send(upstream, within: .nanoseconds(-1)) == "timed out")
            #expect(server.seen.isEmpty)
        }
    }

    @Test func aRefusedConnectionIsUnreachable() async throws {
        try await withUpstream { _ in
            []
        } _: { upstream, server in
            await server.stop()
            for repeatable in [false, true] {
                #expect(await send(upstream, repeatable: repeatable).hasPrefix("unreachable"))
            }
        }
    }

    @Test func theQueueBeforeAFullPoolIsBounded() async throws {
        let mayAnswer = Signal()
        try await withUpstream { _ in
            [.wait(mayAnswer), .write(Self.ok)]
        } configure: {
            $0.connections = 1
            $0.waiting = 1
        } _: { upstream, server in
            await withTaskGroup(of: String.self) { group in
                for _ in 0..<3 { group.addTask { await send(upstream) } }
                // One is answered by the server, one waits; nothing of both ends before the server answers.
                #expect(await group.next() == "overloaded")
                mayAnswer.raise()
                #expect(await group.next() == "200 text/plain yes")
                #expect(await group.next() == "200 text/plain yes")
            }
            #expect(
                server.seen == [
                    .init(connection: 1, request: 1, target: "/"), .init(connection: 1, request: 2, target: "/"),
                ])
        }
    }

    @Test func waitingCountsAgainstTheDeadline() async throws {
        let (arrived, mayAnswer) = (Signal(), Signal())
        try await withUpstream { _ in
            arrived.raise()
            return [.wait(mayAnswer), .write(Self.ok)]
        } configure: {
            $0.connections = 1
        } _: { upstream, server in
            async let first = send(upstream)
            await arrived.wait()
            #expect(await send(upstream, within: .milliseconds(20)) == "timed out")
            mayAnswer.raise()
            #expect(await first == "200 text/plain yes")
            #expect(server.seen.count == 1)
        }
    }

    @Test func shutdownCutsOffWhatIsUnderWay() async throws {
        let (arrived, never) = (Signal(), Signal())
        try await withUpstream { _ in
            arrived.raise()
            return [.wait(never)]
        } _: { upstream, _ in
            async let answer = send(upstream, repeatable: true)
            await arrived.wait()
            await upstream.shutdown()
            #expect(await answer == "cut off")
            #expect(await send(upstream).hasPrefix("unreachable"))
        }
    }

    @Test func anExchangeReturnsOnTheLoopOfItsCall() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let server = try await ScriptedServer.start { _ in [.write(Self.ok)] }
        let upstream = try await Upstream.start(
            configuration: UpstreamConfiguration(address: .tcp(host: "localhost", port: server.port)), group: group)
        for loop in group.makeIterator() {
            let executor = try await loop.submit { LoopExecutor(on: loop) }.get()
            let words = await Task(executorPreference: executor) {
                let before = loop.inEventLoop
                let answer = await send(upstream)
                return "\(before) \(answer) \(loop.inEventLoop)"
            }.value
            #expect(words == "true 200 text/plain yes true")
        }
        // Each loop has connections of its own.
        #expect(server.connections == 2)
        await upstream.shutdown()
        await server.stop()
        try await group.shutdownGracefully()
    }

    @Test func aUnixSocketServesAsWell() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/backend"
            let server = try await ScriptedServer.start(at: SocketAddress(unixDomainSocketPath: path)) { _ in
                [.write(Self.ok)]
            }
            let address = try #require(UpstreamAddress("unix:\(path)"))
            let upstream = try await Upstream.start(
                configuration: UpstreamConfiguration(address: address), group: MultiThreadedEventLoopGroup.singleton)
            #expect(await send(upstream) == "200 text/plain yes")
            await upstream.shutdown()
            await server.stop()
        }
    }
}

extension BackendAnswer {
    /// The answer in words that a test can compare.
    var word: String {
        switch self {
        case .answered(let response):
            "\(response.status) \(response.contentType ?? "-") \(String(buffer: response.body))"
        case .unreachable(let reason): "unreachable: \(reason)"
        case .broken(let reason): "broken: \(reason)"
        case .timedOut: "timed out"
        case .cutOff: "cut off"
        case .overloaded: "overloaded"
        case .suspended: "suspended"
        }
    }
}
