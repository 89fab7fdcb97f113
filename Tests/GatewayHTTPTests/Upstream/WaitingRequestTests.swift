import NIOCore
import Testing

@testable import GatewayHTTP

/// Requests that have to wait, for an answer or for a connection: how many, and for how long.
@Suite(.timeLimit(.minutes(1)))
struct WaitingRequestTests {
    @Test func anAnswerThatDoesNotComeInTimeEndsItsConnection() async throws {
        try await UpstreamFixture.run { seen in
            seen.connection == 1 ? [.write("HTTP/1.1 200 OK\r\n")] : [.write(UpstreamFixture.ok)]
        } _: { upstream, server in
            #expect(await UpstreamFixture.send(upstream, repeatable: true, within: .milliseconds(50)) == "timed out")
            try await waitUntil { server.closedConnections == 1 }
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
            #expect(server.connections == 2)
        }
    }

    @Test func nothingIsSentAfterTheDeadline() async throws {
        try await UpstreamFixture.run { _ in
            [.write(UpstreamFixture.ok)]
        } _: { upstream, server in
            #expect(await UpstreamFixture.send(upstream, within: .nanoseconds(-1)) == "timed out")
            #expect(server.seen.isEmpty)
        }
    }

    @Test func theQueueBeforeAFullPoolIsBounded() async throws {
        let mayAnswer = Signal()
        try await UpstreamFixture.run { _ in
            [.wait(mayAnswer), .write(UpstreamFixture.ok)]
        } configure: {
            $0.connections = 1
            $0.waiting = 1
        } _: { upstream, server in
            await withTaskGroup(of: String.self) { group in
                for _ in 0..<3 { group.addTask { await UpstreamFixture.send(upstream) } }
                // One is answered by the server, one waits; nothing of both ends before the server answers.
                #expect(await group.next() == "overloaded")
                mayAnswer.raise()
                #expect(await group.next() == "200 yes")
                #expect(await group.next() == "200 yes")
            }
            #expect(
                server.seen == [
                    .init(connection: 1, request: 1, target: "/"), .init(connection: 1, request: 2, target: "/"),
                ])
        }
    }

    @Test func waitingCountsAgainstTheDeadline() async throws {
        let (arrived, mayAnswer) = (Signal(), Signal())
        try await UpstreamFixture.run { _ in
            arrived.raise()
            return [.wait(mayAnswer), .write(UpstreamFixture.ok)]
        } configure: {
            $0.connections = 1
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
