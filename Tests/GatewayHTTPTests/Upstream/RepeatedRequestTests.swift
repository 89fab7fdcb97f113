import GatewayTesting
import NIOCore
import Testing

@testable import GatewayHTTP

/// Tests of requests whose connection fails: a retryable request is repeated once, a send never.
@Suite(.timeLimit(.minutes(1)))
struct RepeatedRequestTests {
    @Test("A send is not repeated") func aSendIsNotRepeated() async throws {
        try await UpstreamFixture.run { seen in
            seen.number == 2 ? [.close] : [.write(UpstreamFixture.ok)]
        } _: { upstream, server in
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
            #expect(await UpstreamFixture.send(upstream).hasPrefix("broken"))
            #expect(server.seen.map(\.connection) == [1, 1])
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
        }
    }

    @Test("A retryable request is repeated once on a new connection")
    func aRepeatableRequestIsRepeatedOnceOnANewConnection() async throws {
        try await UpstreamFixture.run { seen in
            seen.number == 2 ? [.close] : [.write(UpstreamFixture.ok)]
        } _: { upstream, server in
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
            #expect(await UpstreamFixture.send(upstream, retryable: true) == "200 yes")
            #expect(server.seen.map(\.connection) == [1, 1, 2])
        }
    }

    @Test("A second failure ends the request") func aSecondFailureEndsTheRequest() async throws {
        try await UpstreamFixture.run { seen in
            seen.connection == 1 && seen.number == 1 ? [.write(UpstreamFixture.ok)] : [.close]
        } _: { upstream, server in
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
            #expect(await UpstreamFixture.send(upstream, retryable: true).hasPrefix("broken"))
            #expect(server.seen.map(\.connection) == [1, 1, 2])
        }
    }

    @Test("A request is not repeated after a failure on a new connection")
    func aRequestIsNotRepeatedAfterAFailureOnANewConnection() async throws {
        try await UpstreamFixture.run { _ in
            [.close]
        } _: { upstream, server in
            #expect(await UpstreamFixture.send(upstream, retryable: true).hasPrefix("broken"))
            #expect(server.seen.count == 1)
        }
    }

    @Test("A response that ends early is broken", arguments: [false, true])
    func aResponseThatEndsEarlyIsBroken(_ retryable: Bool) async throws {
        try await UpstreamFixture.run { seen in
            seen.number == 1
                ? [.write(UpstreamFixture.ok)] : [.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"), .close]
        } _: { upstream, server in
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
            #expect(await UpstreamFixture.send(upstream, retryable: retryable).hasPrefix("broken"))
            #expect(server.seen.count == 2)
        }
    }

    @Test("A refused connection is unreachable") func aRefusedConnectionIsUnreachable() async throws {
        try await UpstreamFixture.run { _ in
            []
        } _: { upstream, server in
            await server.stop()
            for retryable in [false, true] {
                // The reason is in plain words; the error of SwiftNIO does not reach the log.
                #expect(
                    await UpstreamFixture.send(upstream, retryable: retryable)
                        == "unreachable: cannot connect to the backend: connection refused")
            }
        }
    }
}
