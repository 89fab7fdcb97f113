import GatewayTesting
import NIOCore
import Testing

@testable import GatewayHTTP

/// Tests of requests that wait for a response or for a connection.
@Suite(.timeLimit(.minutes(1)))
struct WaitingRequestTests {
    @Test("A response that is late closes its connection")
    func aResponseThatIsLateClosesItsConnection() async throws {
        try await UpstreamFixture.run { seen in
            seen.connection == 1 ? [.write("HTTP/1.1 200 OK\r\n")] : [.write(UpstreamFixture.ok)]
        } _: { upstream, server in
            #expect(await UpstreamFixture.send(upstream, retryable: true, within: .milliseconds(50)) == "timed out")
            await server.wait { $0.closed == 1 }
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
            #expect(server.connections == 2)
        }
    }

    @Test("No request is sent after its deadline") func noRequestIsSentAfterItsDeadline() async throws {
        try await UpstreamFixture.run { _ in
            [.write(UpstreamFixture.ok)]
        } _: { upstream, server in
            #expect(await UpstreamFixture.send(upstream, within: .nanoseconds(-1)) == "timed out")
            #expect(server.seen.isEmpty)
        }
    }

    @Test("The queue of a full pool is limited") func theQueueOfAFullPoolIsLimited() async throws {
        let mayAnswer = Signal()
        try await UpstreamFixture.run { _ in
            [.wait(mayAnswer), .write(UpstreamFixture.ok)]
        } configure: {
            $0.maximumConnections = 1
            $0.maximumWaiting = 1
        } _: { upstream, server in
            await withTaskGroup(of: String.self) { group in
                for _ in 0..<3 { group.addTask { await UpstreamFixture.send(upstream) } }
                // One request is in progress and one waits. Neither completes before the server responds.
                #expect(await group.next() == "overloaded")
                mayAnswer.raise()
                #expect(await group.next() == "200 yes")
                #expect(await group.next() == "200 yes")
            }
            #expect(server.seen.map(\.connection) == [1, 1])
            #expect(server.seen.map(\.number) == [1, 2])
        }
    }

    @Test("The deadline includes the time in the queue") func theDeadlineIncludesTheTimeInTheQueue() async throws {
        let (arrived, mayAnswer) = (Signal(), Signal())
        try await UpstreamFixture.run { _ in
            arrived.raise()
            return [.wait(mayAnswer), .write(UpstreamFixture.ok)]
        } configure: {
            $0.maximumConnections = 1
        } _: { upstream, server in
            async let first = UpstreamFixture.send(upstream)
            await arrived.wait()
            #expect(await UpstreamFixture.send(upstream, within: .milliseconds(20)) == "timed out")
            mayAnswer.raise()
            #expect(await first == "200 yes")
            #expect(server.seen.count == 1)
        }
    }
}
