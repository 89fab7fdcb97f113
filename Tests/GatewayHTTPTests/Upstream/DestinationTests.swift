import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOPosix
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// Tests of the selection among several addresses of one backend.
@Suite(.timeLimit(.minutes(1)))
struct DestinationTests {
    private static let ok = ScriptedServer.ok("yes")

    /// Runs the body with a client for these ports on one loop.
    private func withUpstream(
        to ports: [Int], configure: (inout UpstreamConfiguration) -> Void = { _ in },
        _ body: (Upstream) async throws -> Void
    ) async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let addresses = ports.map { UpstreamAddress.tcp(host: "127.0.0.1", port: $0) }
        var configuration = UpstreamConfiguration(address: addresses[0])
        configuration.otherAddresses = Array(addresses.dropFirst())
        configure(&configuration)
        let upstream = try await Upstream.start(configuration: configuration, group: group)
        do {
            try await body(upstream)
        } catch {
            Issue.record(error)
        }
        await upstream.shutdown()
        try await group.shutdownGracefully()
    }

    /// A port without a listener: it was free a moment ago.
    private func closedPort() async throws -> Int {
        let server = try await ScriptedServer.start { _ in [] }
        let port = server.port
        await server.stop()
        return port
    }

    @Test("Requests are distributed over the addresses") func requestsAreDistributedOverTheAddresses() async throws {
        let servers = [
            try await ScriptedServer.start { _ in [.write(Self.ok)] },
            try await ScriptedServer.start { _ in [.write(Self.ok)] },
        ]
        try await withUpstream(to: servers.map(\.port)) { upstream in
            for _ in 0..<10 { #expect(await UpstreamFixture.send(upstream) == "200 yes") }
            #expect(servers.map(\.seen.count) == [5, 5])
            #expect(servers.map(\.connections) == [1, 1])
        }
        for server in servers { await server.stop() }
    }

    @Test("A busy address gets fewer requests") func aBusyAddressGetsFewerRequests() async throws {
        let (arrived, mayAnswer) = (Signal(), Signal())
        let slow = try await ScriptedServer.start { _ in
            arrived.raise()
            return [.wait(mayAnswer), .write(Self.ok)]
        }
        let quick = try await ScriptedServer.start { _ in [.write(Self.ok)] }
        try await withUpstream(to: [slow.port, quick.port]) { upstream in
            async let first = UpstreamFixture.send(upstream)
            await arrived.wait()
            for _ in 0..<5 { #expect(await UpstreamFixture.send(upstream) == "200 yes") }
            #expect(quick.seen.count == 5)
            mayAnswer.raise()
            #expect(await first == "200 yes")
        }
        for server in [slow, quick] { await server.stop() }
    }

    @Test("The next address is used if a connection fails")
    func theNextAddressIsUsedIfAConnectionFails() async throws {
        let server = try await ScriptedServer.start { _ in [.write(Self.ok)] }
        let closed = try await closedPort()
        try await withUpstream(to: [closed, server.port]) { upstream in
            for _ in 0..<10 { #expect(await UpstreamFixture.send(upstream) == "200 yes") }
            let reading = await upstream.statistics()
            // After three failures the address is avoided.
            #expect(reading.failed == 3)
            #expect(reading.destinations.map(\.isAvailable) == [false, true])
        }
        await server.stop()
    }

    @Test("A request stays on its address once a byte is written")
    func aRequestStaysOnItsAddressOnceAByteIsWritten() async throws {
        let dying = try await ScriptedServer.start { _ in [.close] }
        let other = try await ScriptedServer.start { _ in [.write(Self.ok)] }
        try await withUpstream(to: [dying.port, other.port]) { upstream in
            var words: [String] = []
            for _ in 0..<12 { words.append(await UpstreamFixture.send(upstream)) }
            #expect(words.count { $0.hasPrefix("broken") } == 3)
            #expect(words.count { $0 == "200 yes" } == 9)
            // Each request was written once.
            #expect(dying.seen.count + other.seen.count == 12)
            #expect(dying.seen.count == 3)
        }
        for server in [dying, other] { await server.stop() }
    }

    @Test("A request fails at once if no address is reachable")
    func aRequestFailsAtOnceIfNoAddressIsReachable() async throws {
        let closed = try await closedPort()
        try await withUpstream(to: [closed]) { upstream in
            for _ in 0..<3 { #expect(await UpstreamFixture.send(upstream).hasPrefix("unreachable")) }
            #expect(await upstream.statistics().failed == 3)
            for _ in 0..<100 { #expect(await UpstreamFixture.send(upstream) == "suspended") }
        }
    }

    @Test("A recovered address is found without a call") func aRecoveredAddressIsFoundWithoutACall() async throws {
        let closed = try await closedPort()
        try await withUpstream(to: [closed]) { upstream in
            for _ in 0..<3 { #expect(await UpstreamFixture.send(upstream).hasPrefix("unreachable")) }
            let server = try await ScriptedServer.start(at: SocketAddress(ipAddress: "127.0.0.1", port: closed)) { _ in
                [.write(Self.ok)]
            }
            await server.wait { $0.connections > 0 }
            #expect(server.seen.isEmpty)
            // The client learns of the connection on its event loop, which also runs the readings.
            while await !upstream.statistics().destinations.allSatisfy(\.isAvailable) {}
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
            await server.stop()
        }
    }

    @Test("An address that fails its health check gets no calls")
    func anAddressThatFailsItsHealthCheckGetsNoCalls() async throws {
        let sick = try await ScriptedServer.start { seen in
            seen.target == "/health"
                ? [.write("HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")] : [.write(Self.ok)]
        }
        let well = try await ScriptedServer.start { seen in
            // Status 404 counts as a response.
            seen.target == "/health"
                ? [.write("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")] : [.write(Self.ok)]
        }
        try await withUpstream(to: [sick.port, well.port]) {
            $0.healthCheck = .init(path: "/health", period: .milliseconds(20))
        } _: { upstream in
            // A check follows the result of the previous one.
            await sick.wait { $0.seen.count == 2 }
            #expect(await upstream.statistics().destinations.first?.isAvailable == false)
            for _ in 0..<6 { #expect(await UpstreamFixture.send(upstream, "/call") == "200 yes") }
            #expect(sick.seen.count { $0.target == "/call" } == 0)
            #expect(well.seen.count { $0.target == "/call" } == 6)
            let before = well.seen.count
            await well.wait { $0.seen.count > before + 2 }
        }
        for server in [sick, well] { await server.stop() }
    }

    @Test("An old connection carries no further request") func anOldConnectionCarriesNoFurtherRequest() async throws {
        let server = try await ScriptedServer.start { _ in [.write(Self.ok)] }
        try await withUpstream(to: [server.port]) {
            $0.maximumAge = .nanoseconds(1)
        } _: { upstream in
            for _ in 0..<3 { #expect(await UpstreamFixture.send(upstream) == "200 yes") }
            #expect(server.seen.map(\.connection) == [1, 2, 3])
        }
        await server.stop()
    }
}
