import Gateway
import GatewayCore
import GatewayTesting
import NIOCore
import NIOPosix
import NIOSSL

@testable import GatewayHTTP

/// A listener with HTTP/2 for one test. By default it responds with the request.
struct HTTP2Fixture {
    static let group = MultiThreadedEventLoopGroup.singleton

    let listener: Listener

    static func run(
        _ serving: any RequestResponder = echo, tls: TestCertificate? = nil, supportsHTTP2: Bool = true,
        configure: (inout ListenerConfiguration) -> Void = { _ in }, _ body: (HTTP2Fixture) async throws -> Void
    ) async throws {
        var configuration = ListenerConfiguration(address: .tcp(host: "127.0.0.1", port: 0))
        configuration.tls = try tls.map { try ServerTLS($0.identity()) }
        configuration.supportsHTTP2 = supportsHTTP2
        configure(&configuration)
        let listener = try await Listener.start(configuration: configuration, serving: serving, group: group)
        do {
            try await body(HTTP2Fixture(listener: listener))
        } catch {
            await listener.close()
            throw error
        }
        await listener.close()
    }

    /// Returns method, path, query and body.
    static let echo = ClosureResponder { request in
        let parts = [
            request.method?.rawValue ?? "-", String(buffer: request.path),
            request.query.map { String(buffer: $0) } ?? "-",
            String(buffer: request.body),
        ]
        return Response(status: 200, contentType: "text/plain", body: Array(parts.joined(separator: " ").utf8))
    }

    static func get(_ path: String) -> [(String, String)] {
        [(":method", "GET"), (":scheme", "http"), (":path", path), (":authority", "gateway.test")]
    }

    static func post(_ path: String) -> [(String, String)] { [(":method", "POST")] + get(path).dropFirst() }

    func connect() async throws -> FrameClient {
        try await FrameClient.connect(to: listener.localAddress, group: Self.group)
    }

    func connectByTLS(
        protocols: [String], identity: TestClientCertificate? = nil
    ) async throws -> FrameClient {
        let context = try TLSOffer(protocols: protocols, identity: identity).context()
        return try await FrameClient.connect(to: listener.localAddress, group: Self.group) { pipeline in
            try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: "localhost"))
        }
    }
}
