import GatewayCore
import NIOCore
import NIOPosix
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// What is counted of connections to the backend.
@Suite(.timeLimit(.minutes(1)))
struct UpstreamReadingTests {
    /// A configuration with another backend has another upstream.
    @Test func theNextUpstreamCountsOnWhereTheLastOneStood() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
        let server = try await ScriptedServer.start { _ in [.write(ScriptedServer.ok("yes"))] }
        let connects = ConnectCounters()
        for number in 1...3 as ClosedRange<UInt64> {
            let upstream = try await Upstream.start(
                configuration: UpstreamConfiguration(address: .tcp(host: "127.0.0.1", port: server.port)), group: group,
                connects: connects)
            #expect(await upstream.reading().connected == number - 1)
            let request = RecordedRequest(
                id: CallID(process: 1, number: 1), bytes: ByteBuffer(string: "GET / HTTP/1.1\r\nHost: b\r\n\r\n"),
                mayBeRepeated: false, deadline: .now() + .seconds(30))
            #expect(await upstream.exchange(request).word == "200 - yes")
            #expect(await upstream.reading().connected == number)
            #expect(await upstream.reading().failed == 0)
            await upstream.shutdown()
        }
        await server.stop()
        try await group.shutdownGracefully()
    }
}
