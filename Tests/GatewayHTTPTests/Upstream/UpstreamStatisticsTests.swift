import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOPosix
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// Tests of the metrics of connections to the backend.
@Suite(.timeLimit(.minutes(1)))
struct UpstreamStatisticsTests {
    /// A changed backend configuration creates a new client.
    @Test("The next client continues the counters of the previous one")
    func theNextClientContinuesTheCountersOfThePreviousOne() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let server = try await ScriptedServer.start { _ in [.write(ScriptedServer.ok("yes"))] }
        let connects = ConnectCounters()
        for number in 1...3 as ClosedRange<UInt64> {
            let upstream = try await Upstream.start(
                configuration: UpstreamConfiguration(address: .tcp(host: "127.0.0.1", port: server.port)), group: group,
                connectCounters: connects)
            #expect(await upstream.statistics().connected == number - 1)
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
            #expect(await upstream.statistics().connected == number)
            #expect(await upstream.statistics().failed == 0)
            await upstream.shutdown()
        }
        await server.stop()
        try await group.shutdownGracefully()
    }
}
