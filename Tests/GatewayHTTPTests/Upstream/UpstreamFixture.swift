import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOPosix
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// A backend client on one loop with a scripted server, for one test.
enum UpstreamFixture {
    /// The response of a healthy server.
    static let ok = ScriptedServer.ok("yes", "Content-Type: text/plain\r\n")

    static func run(
        _ script: @escaping @Sendable (ScriptedServer.Request) -> [ScriptedServer.Step], greeting: String? = nil,
        configure: (inout UpstreamConfiguration) -> Void = { _ in },
        _ body: (Upstream, ScriptedServer) async throws -> Void
    ) async throws {
        // One loop, so that there is one pool.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let server = try await ScriptedServer.start(greeting: greeting, script)
        var configuration = UpstreamConfiguration(address: .tcp(host: "127.0.0.1", port: server.port))
        configure(&configuration)
        let upstream = try await Upstream.start(configuration: configuration, group: group)
        do {
            try await body(upstream, server)
        } catch {
            Issue.record(error)
        }
        await upstream.shutdown()
        await server.stop()
        try await group.shutdownGracefully()
    }

    /// Sends a request and returns the result as text.
    static func send(
        _ upstream: Upstream, _ target: String = "/", retryable: Bool = false, within: TimeAmount = .seconds(30)
    ) async -> String {
        let request = RecordedRequest(
            id: CallID(process: 1, number: 1), bytes: ByteBuffer(string: "GET \(target) HTTP/1.1\r\nHost: b\r\n\r\n"),
            isRetryable: retryable, deadline: .now() + within)
        return await upstream.exchange(request).word
    }
}

extension BackendResult {
    /// Returns the result as text.
    var word: String {
        switch self {
        case .responded(let response):
            "\(response.status) \(String(buffer: response.body))"
        case .unreachable(let reason): "unreachable: \(reason)"
        case .broken(let reason): "broken: \(reason)"
        case .timedOut: "timed out"
        case .gatewayStopped: "cut off"
        case .overloaded: "overloaded"
        case .circuitOpen: "suspended"
        case .withdrawn: "withdrawn"
        }
    }
}
