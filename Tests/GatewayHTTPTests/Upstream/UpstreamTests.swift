import GatewayCore
import GatewayTesting
import NIOCore
import NIOPosix
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// Tests of the backend client with a scripted server.
@Suite(.timeLimit(.minutes(1)))
struct UpstreamTests {
    @Test("A request is written unchanged") func aRequestIsWrittenUnchanged() async throws {
        try await UpstreamFixture.run { seen in
            [.write(ScriptedServer.ok(seen.target))]
        } _: { upstream, _ in
            #expect(await UpstreamFixture.send(upstream, "/a?b=c") == "200 /a?b=c")
        }
    }

    @Test("A response that ends with the connection is complete")
    func aResponseThatEndsWithTheConnectionIsComplete() async throws {
        try await UpstreamFixture.run { _ in
            [.write("HTTP/1.1 200 OK\r\n\r\nall"), .close]
        } _: { upstream, _ in
            #expect(await UpstreamFixture.send(upstream) == "200 all")
        }
    }

    @Test(
        "An invalid response is broken",
        arguments: [
            "nonsense\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 65537\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10001\r\n",
            "HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "x", count: 65_537),
            "HTTP/1.1 200 OK\r\nX: " + String(repeating: "x", count: 20_000),
            "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        ])
    func anInvalidResponseIsBroken(_ answer: String) async throws {
        try await UpstreamFixture.run { _ in
            [.write(answer)]
        } _: { upstream, server in
            #expect(await UpstreamFixture.send(upstream).hasPrefix("broken"))
            await server.wait { $0.closed == 1 }
        }
    }

    @Test("An exchange returns on the loop of its call") func anExchangeReturnsOnTheLoopOfItsCall() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let server = try await ScriptedServer.start { _ in [.write(UpstreamFixture.ok)] }
        let upstream = try await Upstream.start(
            configuration: UpstreamConfiguration(address: .tcp(host: "localhost", port: server.port)), group: group)
        for loop in group.makeIterator() {
            let executor = try await loop.submit { EventLoopExecutor(on: loop) }.get()
            let words = await Task(executorPreference: executor) {
                let before = loop.inEventLoop
                let answer = await UpstreamFixture.send(upstream)
                return "\(before) \(answer) \(loop.inEventLoop)"
            }.value
            #expect(words == "true 200 yes true")
        }
        // Each loop has its own connections.
        #expect(server.connections == 2)
        await upstream.shutdown()
        await server.stop()
        try await group.shutdownGracefully()
    }

    @Test("A Unix socket is supported") func aUnixSocketIsSupported() async throws {
        try await withTemporaryDirectory { directory in
            let path = directory + "/backend"
            let server = try await ScriptedServer.start(at: SocketAddress(unixDomainSocketPath: path)) { _ in
                [.write(UpstreamFixture.ok)]
            }
            let address = try #require(UpstreamAddress("unix:\(path)"))
            let upstream = try await Upstream.start(
                configuration: UpstreamConfiguration(address: address), group: MultiThreadedEventLoopGroup.singleton)
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
            await upstream.shutdown()
            await server.stop()
        }
    }

    @Test("A shutdown cuts off requests in progress") func aShutdownCutsOffRequestsInProgress() async throws {
        let (arrived, never) = (Signal(), Signal())
        try await UpstreamFixture.run { _ in
            arrived.raise()
            return [.wait(never)]
        } _: { upstream, _ in
            async let answer = UpstreamFixture.send(upstream, retryable: true)
            await arrived.wait()
            await upstream.shutdown()
            #expect(await answer == "cut off")
            #expect(await UpstreamFixture.send(upstream).hasPrefix("unreachable"))
            never.raise()
        }
    }
}
