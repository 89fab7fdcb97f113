import Gateway
import NIOCore
import NIOPosix
import Testing

@testable import GatewayHTTP

/// Tests of slow HTTP/2 clients. A slow trickle of bytes does not extend a deadline.
@Suite(.timeLimit(.minutes(1)))
struct HTTP2DeadlineTests {
    typealias Frame = FrameClient.Frame

    private func run(
        _ configure: @escaping (inout ListenerConfiguration.Deadlines) -> Void,
        _ body: (FrameClient) async throws -> Void
    ) async throws {
        try await HTTP2Fixture.run {
            configure(&$0.deadlines)
        } _: { bench in
            try await body(bench.connect())
        }
    }

    @Test("A connection without a request is closed") func aConnectionWithoutARequestIsClosed() async throws {
        try await run {
            $0.head = .milliseconds(100)
        } _: { client in
            #expect(await client.goAwayAtEnd() == 0)
        }
    }

    @Test("A connection without a further request is closed")
    func aConnectionWithoutAFurtherRequestIsClosed() async throws {
        try await run {
            $0.idle = .milliseconds(100)
        } _: { client in
            try await client.send(.headers(1, HTTP2Fixture.get("/")))
            #expect(await client.answer(on: 1).status == 200)
            #expect(await client.goAwayAtEnd() == 0)
        }
    }

    @Test(
        "A connection with an incomplete frame or head is closed",
        arguments: ["half a frame", "half a head", "half a frame's header"])
    func aConnectionWithAnIncompleteFrameOrHeadIsClosed(_ kind: String) async throws {
        try await run {
            $0.head = .milliseconds(300)
        } _: { client in
            try await client.send(.headers(1, HTTP2Fixture.get("/")))
            #expect(await client.answer(on: 1).status == 200)
            let whole = Frame.headers(3, HTTP2Fixture.get("/"), endsHead: false).bytes
            switch kind {
            case "half a frame": try await client.send(bytes: Array(whole.dropLast(3)))
            case "half a head": try await client.send(bytes: whole)
            default: try await client.send(bytes: Array(whole.prefix(4)))
            }
            _ = await client.goAwayAtEnd()
        }
    }

    @Test("An incomplete body gets a response") func anIncompleteBodyGetsAResponse() async throws {
        try await run {
            $0.body = .milliseconds(300)
        } _: { client in
            try await client.send(.headers(1, HTTP2Fixture.post("/"), end: false), .data(1, "abc", end: false))
            #expect(await client.answer(on: 1).status == 408)
            try await client.send(.headers(3, HTTP2Fixture.get("/")))
            #expect(await client.answer(on: 3).status == 200)
        }
    }

    @Test("A response that the client never reads is dropped")
    func aResponseThatTheClientNeverReadsIsDropped() async throws {
        try await run {
            $0.body = .milliseconds(300)
        } _: { client in
            // The window of each stream is zero.
            try await client.send(.setting(4, 0), .headers(1, HTTP2Fixture.get("/")))
            let reset = await client.frame { $0.type == 3 }
            #expect(reset?.stream == 1)
        }
    }
}
