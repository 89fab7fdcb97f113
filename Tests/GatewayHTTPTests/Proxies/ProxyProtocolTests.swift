import Gateway
import GatewayCore
import GatewayTesting
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@testable import GatewayHTTP

/// Tests of a listener with the PROXY protocol over loopback sockets.
@Suite(.timeLimit(.minutes(1)))
struct ProxyProtocolTests {
    private static let group = MultiThreadedEventLoopGroup.singleton
    private static let header = "PROXY TCP4 192.0.2.1 10.0.0.1 4711 443\r\n"
    private static let request =
        "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 198.51.100.1\r\nConnection: close\r\n\r\n"
    private static let serving = ClosureResponder {
        Response(status: 200, body: Array("\($0.peer) \($0.allowsCredentials)".utf8))
    }

    private func run(
        listed: String = "127.0.0.1", configure: (inout ListenerConfiguration) -> Void = { _ in },
        _ body: (Listener) async throws -> Void
    ) async throws {
        var configuration = ListenerConfiguration(address: .tcp(host: "0.0.0.0", port: 0))
        configuration.trustedProxies = TrustedProxies(
            proxies: [AddressRange(listed)].compactMap(\.self), source: .proxyProtocol)
        configure(&configuration)
        let listener = try await Listener.start(
            configuration: configuration, serving: Self.serving, group: Self.group)
        do { try await body(listener) } catch {
            await listener.close()
            throw error
        }
        await listener.close()
    }

    private func connect(_ listener: Listener) async throws -> RawConnection {
        let address = try SocketAddress(ipAddress: "127.0.0.1", port: listener.port ?? 0)
        return try await RawConnection.connect(to: address, group: Self.group)
    }

    @Test("A trusted proxy reports its client") func aTrustedProxyReportsItsClient() async throws {
        try await run { listener in
            for pieces in [
                [Self.header + Self.request], [Self.header, Self.request],
                ["PRO", "XY TCP4 192.0.2.1 10.0.0.1 1 1\r", "\n" + Self.request],
            ] {
                let client = try await connect(listener)
                for piece in pieces { try await client.send(piece) }
                #expect(await client.receiveToEnd().hasSuffix("\r\n\r\n192.0.2.1 false"))
            }
        }
    }

    @Test("A client on this machine counts as unencrypted unless the proxy reports encryption")
    func localListener() async throws {
        let local: (inout ListenerConfiguration) -> Void = { $0.address = .tcp(host: "127.0.0.1", port: 0) }
        try await run(configure: local) { listener in
            for (header, expected) in [
                (Array(Self.header.utf8), "false"), (Array("PROXY UNKNOWN\r\n".utf8), "false"),
                (ProxyHeaderTests.binary(0x11, ProxyHeaderTests.v4), "false"),
                (ProxyHeaderTests.binary(0x11, ProxyHeaderTests.v4 + ProxyHeaderTests.ssl), "true"),
            ] {
                let client = try await connect(listener)
                try await client.channel.writeAndFlush(ByteBuffer(bytes: header))
                try await client.send(Self.request)
                #expect(await client.receiveToEnd().hasSuffix(" \(expected)"))
            }
        }
    }

    @Test("A proxy's report that the client is encrypted is trusted")
    func aProxysReportThatTheClientIsEncryptedIsTrusted() async throws {
        try await run { listener in
            let client = try await connect(listener)
            let header = ProxyHeaderTests.binary(0x11, ProxyHeaderTests.v4 + ProxyHeaderTests.ssl)
            try await client.channel.writeAndFlush(ByteBuffer(bytes: header))
            try await client.send(Self.request)
            #expect(await client.receiveToEnd().hasSuffix("\r\n\r\n192.0.2.1 true"))
        }
    }

    @Test("A peer that is not trusted is disconnected") func aPeerThatIsNotTrustedIsDisconnected() async throws {
        try await run(listed: "192.0.2.0/24") { listener in
            for text in [Self.header + Self.request, Self.request] {
                let client = try await connect(listener)
                try? await client.send(text)
                #expect(await client.receiveToEnd() == "")
            }
        }
    }

    @Test("A connection without a header is closed") func aConnectionWithoutAHeaderIsClosed() async throws {
        try await run { listener in
            let client = try await connect(listener)
            try await client.send(Self.request)
            #expect(await client.receiveToEnd() == "")
        }
    }

    @Test("A connection whose header does not arrive is closed")
    func aConnectionWhoseHeaderDoesNotArriveIsClosed() async throws {
        try await run {
            $0.deadlines.head = .milliseconds(100)
        } _: { listener in
            let client = try await connect(listener)
            try await client.send("PROXY ")
            #expect(await client.receiveToEnd() == "")
        }
    }

    @Test("The header precedes TLS and HTTP/2") func theHeaderPrecedesTLSAndHTTP2() async throws {
        try await run {
            $0.tls = try? ServerTLS(TestCertificate.one.identity())
            $0.supportsHTTP2 = true
        } _: { listener in
            let address = try SocketAddress(ipAddress: "127.0.0.1", port: listener.port ?? 0)
            let context = try TLSOffer(protocols: ["h2"]).context()
            let client = try await FrameClient.connect(to: address, group: Self.group) { pipeline in
                try pipeline.addHandlers([
                    ProxyAnnouncement(Self.header),
                    try NIOSSLClientHandler(context: context, serverHostname: "localhost"),
                ])
            }
            try await client.send(.headers(1, HTTP2Fixture.get("/")))
            #expect(await client.answer(on: 1).body == "192.0.2.1 true")
        }
    }

    /// The connections count for the reported client, not for the proxy.
    @Test("The connection limit counts the reported client")
    func theConnectionLimitCountsTheReportedClient() async throws {
        try await run {
            $0.connections.perPeer = 1
        } _: { listener in
            let first = try await connect(listener)
            let keep = Self.request.replacing("Connection: close\r\n", with: "")
            try await first.send(Self.header + keep)
            _ = await first.receive(endingWith: "192.0.2.1 false")
            let second = try await connect(listener)
            try await second.send(Self.header + keep)
            #expect(await second.receiveToEnd() == "")
            let other = try await connect(listener)
            try await other.send("PROXY TCP4 192.0.2.2 10.0.0.1 1 1\r\n" + Self.request)
            #expect(await other.receiveToEnd().hasSuffix("192.0.2.2 false"))
            try await first.channel.close()
            try await retry {
                let next = try await connect(listener)
                try? await next.send(Self.header + Self.request)
                return await next.receiveToEnd().hasSuffix("192.0.2.1 false")
            }
        }
    }

    @Test("A trusted proxy may have more connections than an address")
    func aTrustedProxyMayHaveMoreConnectionsThanAnAddress() async throws {
        try await run {
            $0.connections.perPeer = 1
            $0.trustedProxies.source = .xForwardedFor
        } _: { listener in
            let clients = [try await connect(listener), try await connect(listener), try await connect(listener)]
            for client in clients {
                try await client.send(Self.request)
                #expect(await client.receiveToEnd().hasSuffix("198.51.100.1 false"))
            }
        }
    }
}

/// Sends the header before any other byte.
private final class ProxyAnnouncement: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let header: String

    init(_ header: String) { self.header = header }

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: header)), promise: nil)
        context.fireChannelActive()
    }
}
