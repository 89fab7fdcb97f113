import NIOCore
import Testing

@testable import GatewayHTTP

/// What becomes of a request whose connection dies, or could not be made: what may be repeated is, once; a send never.
@Suite(.timeLimit(.minutes(1)))
struct RepeatedRequestTests {
    @Test func aSendThatDiedIsNotSentAgain() async throws {
        try await UpstreamFixture.run { seen in
            seen.request == 2 ? [.close] : [.write(UpstreamFixture.ok)]
        } _: { upstream, server in
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
            #expect(await UpstreamFixture.send(upstream).hasPrefix("broken"))
            #expect(server.seen.map(\.connection) == [1, 1])
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
        }
    }

    @Test func whatMayBeRepeatedIsRepeatedOnceOnANewConnection() async throws {
        try await UpstreamFixture.run { seen in
            seen.request == 2 ? [.close] : [.write(UpstreamFixture.ok)]
        } _: { upstream, server in
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
            #expect(await UpstreamFixture.send(upstream, repeatable: true) == "200 yes")
            #expect(server.seen.map(\.connection) == [1, 1, 2])
        }
    }

    @Test func aSecondDeathIsTheEnd() async throws {
        try await UpstreamFixture.run { seen in
            seen.connection == 1 && seen.request == 1 ? [.write(UpstreamFixture.ok)] : [.close]
        } _: { upstream, server in
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
            #expect(await UpstreamFixture.send(upstream, repeatable: true).hasPrefix("broken"))
            #expect(server.seen.map(\.connection) == [1, 1, 2])
        }
    }

    @Test func aNewConnectionThatDiesIsNoReasonToRepeat() async throws {
        try await UpstreamFixture.run { _ in
            [.close]
        } _: { upstream, server in
            #expect(await UpstreamFixture.send(upstream, repeatable: true).hasPrefix("broken"))
            #expect(server.seen.count == 1)
        }
    }

    @Test(arguments: [false, true])
    func anAnswerThatBreaksOffIsBroken(_ repeatable: Bool) async throws {
        try await UpstreamFixture.run { seen in
            seen.request == 1
                ? [.write(UpstreamFixture.ok)] : [.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"), .close]
        } _: { upstream, server in
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
            #expect(await UpstreamFixture.send(upstream, repeatable: repeatable).hasPrefix("broken"))
            #expect(server.seen.count == 2)
        }
    }

    @Test func aRefusedConnectionIsUnreachable() async throws {
        try await UpstreamFixture.run { _ in
            []
        } _: { upstream, server in
            await server.stop()
            for repeatable in [false, true] {
                #expect(await UpstreamFixture.send(upstream, repeatable: repeatable).hasPrefix("unreachable"))
            }
        }
    }
}
