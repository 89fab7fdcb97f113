import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// Tests of requests whose caller is revoked before they are written.
@Suite(.timeLimit(.minutes(1)))
struct WithdrawnRequestTests {
    private let clock = ManualClock()
    private let user = UserName(canonical: "alice")!

    /// Sends a request for the user and returns the result as text.
    private func send(_ upstream: Upstream, _ caller: CallerRevocationCheck) async -> String {
        let request = RecordedRequest(
            id: CallID(process: 1, number: 1), bytes: ByteBuffer(string: "GET / HTTP/1.1\r\nHost: b\r\n\r\n"),
            isRetryable: false, deadline: .now() + .seconds(30), caller: caller)
        return await upstream.exchange(request).word
    }

    private func caller(in sessions: MemorySessions) -> CallerRevocationCheck {
        CallerRevocationCheck(
            of: Identity(user: user, authenticator: "test"), since: sessions.epoch, in: sessions)
    }

    @Test("Requests that wait for the only connection are not written after the revocation", arguments: 1...6)
    func queue(_ written: Int) async throws {
        let sessions = MemorySessions(clock: clock)
        let caller = caller(in: sessions)
        try await UpstreamFixture.run { [user] request in
            // The user is revoked while the server works on this request, and before it responds.
            if request.number == written { sessions.revoke(user) }
            return [.write(UpstreamFixture.ok)]
        } configure: {
            $0.maximumConnections = 1
        } _: { upstream, server in
            let results = await withTaskGroup(of: String.self) { group in
                for _ in 0..<6 { group.addTask { await send(upstream, caller) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(results.count { $0 == "200 yes" } == written)
            #expect(results.count { $0 == "withdrawn" } == 6 - written)
            #expect(server.seen.count == written)
            // The connection serves the requests of others.
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
            #expect(server.seen.map(\.number) == Array(1...written + 1))
        }
    }

    @Test("A request is written neither to a new connection nor to an idle one after the revocation")
    func connections() async throws {
        let sessions = MemorySessions(clock: clock)
        let caller = caller(in: sessions)
        sessions.revoke(user)
        try await UpstreamFixture.run { _ in
            [.write(UpstreamFixture.ok)]
        } _: { upstream, server in
            for _ in 0..<2 { #expect(await send(upstream, caller) == "withdrawn") }
            #expect(server.seen.isEmpty)
            #expect(await UpstreamFixture.send(upstream) == "200 yes")
            #expect(server.connections == 1)
        }
    }

    @Test("A gateway that another one may have replaced writes no request that waited")
    func unconfirmed() async throws {
        let sessions = MemorySessions(clock: clock)
        let caller = caller(in: sessions)
        try await UpstreamFixture.run { request in
            if request.number == 1 { sessions.isCurrent = false }
            return [.write(UpstreamFixture.ok)]
        } configure: {
            $0.maximumConnections = 1
        } _: { upstream, server in
            async let first = send(upstream, caller)
            async let second = send(upstream, caller)
            #expect(await Set([first, second]) == ["200 yes", "withdrawn"])
            #expect(server.seen.count == 1)
        }
    }
}
