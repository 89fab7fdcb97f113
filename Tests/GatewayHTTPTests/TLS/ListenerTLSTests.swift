import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@testable import GatewayHTTP

/// Tests of listeners with TLS over loopback sockets.
@Suite(.timeLimit(.minutes(1)))
struct ListenerTLSTests {
    private static let group = MultiThreadedEventLoopGroup.singleton
    private static let close = "Connection: close\r\n"

    private func withListener(
        _ certificate: TestCertificate = .one, _ serving: any RequestResponder = ClosureResponder.echo,
        configure: (inout ListenerConfiguration) -> Void = { _ in },
        _ body: (Listener, ServerTLS) async throws -> Void
    ) async throws {
        var configuration = ListenerConfiguration(address: .tcp(host: "127.0.0.1", port: 0))
        let tls = try ServerTLS(certificate.identity())
        configuration.tls = tls
        configure(&configuration)
        let listener = try await Listener.start(configuration: configuration, serving: serving, group: Self.group)
        do {
            try await body(listener, tls)
        } catch {
            await listener.close()
            throw error
        }
        await listener.close()
    }

    private func connect(
        _ listener: Listener, _ offer: TLSOffer = TLSOffer()
    ) async throws -> (client: RawConnection, agreement: TLSOffer.Agreement) {
        try await RawConnection.connect(to: listener.localAddress, offering: offer, group: Self.group)
    }

    private static func get(_ path: String, _ fields: String = "") -> String {
        "GET \(path) HTTP/1.1\r\nHost: a\r\n\(fields)\r\n"
    }

    @Test("TLS 1.2 and TLS 1.3 are supported", arguments: [TLSVersion.tlsv12, .tlsv13])
    func tls12AndTLS13AreSupported(_ version: TLSVersion) async throws {
        try await withListener { listener, _ in
            let client = try await connect(listener, TLSOffer(version: version)).client
            for path in ["/1", "/2"] {
                try await client.send(Self.get(path))
                #expect(await client.receive(endingWith: "\r\n\r\n\(path)").hasPrefix("HTTP/1.1 200 OK\r\n"))
            }
            try await client.send(Self.get("/3", Self.close))
            #expect(await client.receiveToEnd().hasSuffix("/3"))
        }
    }

    @Test("Older versions are rejected", arguments: [TLSVersion.tlsv1, .tlsv11])
    func olderVersionsAreRejected(_ version: TLSVersion) async throws {
        try await withListener { listener, _ in
            await #expect(throws: (any Error).self) { try await connect(listener, TLSOffer(version: version)) }
        }
    }

    @Test(
        "The protocol is negotiated",
        arguments: [([String](), String?.none), (["http/1.1"], "http/1.1"), (["x", "http/1.1"], "http/1.1")])
    func theProtocolIsNegotiated(_ offered: [String], _ expected: String?) async throws {
        try await withListener { listener, _ in
            let (client, agreement) = try await connect(listener, TLSOffer(protocols: offered))
            #expect(agreement.protocolName == expected)
            try await client.send(Self.get("/", Self.close))
            #expect(await client.receiveToEnd().hasPrefix("HTTP/1.1 200 OK\r\n"))
        }
    }

    @Test(
        "A client without a common protocol gets the alert for that",
        arguments: [TLSVersion.tlsv12, .tlsv13], [false, true])
    func noCommonProtocol(_ version: TLSVersion, _ supportsHTTP2: Bool) async throws {
        let configure: (inout ListenerConfiguration) -> Void = { $0.supportsHTTP2 = supportsHTTP2 }
        try await withListener(configure: configure) { listener, _ in
            let offer = TLSOffer(protocols: ["http/1.0", "spdy/3"], version: version)
            let error = await #expect(throws: (any Error).self) { try await connect(listener, offer) }
            #expect(String(describing: error).contains("NO_APPLICATION_PROTOCOL"))
            let client = try await connect(listener).client
            try await client.send(Self.get("/after", Self.close))
            #expect(await client.receiveToEnd().hasSuffix("/after"))
        }
    }

    /// Returns the shortest time of the first request on several new connections, so that other delays do not count.
    private func firstRequest(_ listener: Listener, noDelay: Bool) async throws -> Duration {
        var best = Duration.seconds(60)
        for _ in 0..<10 {
            let client = try await connect(listener, TLSOffer(version: .tlsv13)).client
            try await client.channel.setOption(.tcpOption(.tcp_nodelay), value: noDelay ? 1 : 0).get()
            let began = ContinuousClock.now
            try await client.send(Self.get("/first"))
            _ = await client.receive(endingWith: "/first")
            best = min(best, ContinuousClock.now - began)
            client.channel.close(promise: nil)
        }
        return best
    }

    @Test("A first request on TLS 1.3 does not wait for a delayed acknowledgement")
    func aFirstRequestOnTLS13DoesNotWaitForADelayedAcknowledgement() async throws {
        try await withListener { listener, _ in
            let control = try await firstRequest(listener, noDelay: true)
            let measured = try await firstRequest(listener, noDelay: false)
            // The system delays an acknowledgement by 40 ms.
            #expect(measured < control + .milliseconds(25), "control \(control)")
        }
    }

    @Test("Credentials are accepted over TLS from any machine")
    func credentialsAreAcceptedOverTLSFromAnyMachine() async throws {
        let serving = ClosureResponder { Response(status: 200, body: Array("\($0.allowsCredentials)".utf8)) }
        let configure: (inout ListenerConfiguration) -> Void = { $0.address = .tcp(host: "0.0.0.0", port: 0) }
        try await withListener(.one, serving, configure: configure) { listener, _ in
            let address = try SocketAddress(ipAddress: "127.0.0.1", port: listener.port ?? 0)
            let client = try await RawConnection.connect(to: address, offering: TLSOffer(), group: Self.group).client
            try await client.send(Self.get("/", Self.close))
            #expect(await client.receiveToEnd().hasSuffix("\r\n\r\ntrue"))
        }
    }

    @Test("Unencrypted bytes fail the handshake") func unencryptedBytesFailTheHandshake() async throws {
        try await withListener { listener, _ in
            let client = try await RawConnection.connect(to: listener.localAddress, group: Self.group)
            try await client.send(Self.get("/"))
            #expect(!(await client.receiveToEnd()).contains("HTTP"))
        }
    }

    @Test("A client that does not complete its handshake is disconnected at the deadline")
    func aClientThatDoesNotCompleteItsHandshakeIsDisconnectedAtTheDeadline() async throws {
        let configure: (inout ListenerConfiguration) -> Void = { $0.deadlines.head = .milliseconds(100) }
        try await withListener(configure: configure) { listener, _ in
            let client = try await RawConnection.connect(to: listener.localAddress, group: Self.group)
            #expect(await client.receiveToEnd() == "")
        }
    }

    @Test("A client without a request after the handshake is disconnected at the deadline")
    func aClientWithoutARequestAfterTheHandshakeIsDisconnectedAtTheDeadline() async throws {
        let configure: (inout ListenerConfiguration) -> Void = { $0.deadlines.head = .seconds(2) }
        try await withListener(configure: configure) { listener, _ in
            let client = try await connect(listener).client
            #expect(await client.receiveToEnd() == "")
        }
    }

    @Test("Handshakes count as connections") func handshakesCountAsConnections() async throws {
        let configure: (inout ListenerConfiguration) -> Void = { $0.connections.perPeer = 1 }
        try await withListener(configure: configure) { listener, _ in
            let silent = try await RawConnection.connect(to: listener.localAddress, group: Self.group)
            await #expect(throws: (any Error).self) { try await connect(listener) }
            try await silent.channel.close()
            try await retry { (try? await connect(listener)) != nil }
        }
    }

    @Test("A replaced certificate applies to new connections only")
    func aReplacedCertificateAppliesToNewConnectionsOnly() async throws {
        try await withListener { listener, tls in
            let (before, old) = try await connect(listener)
            #expect(old.certificate == (try TestCertificate.one.presented()))
            try tls.replace(TestCertificate.two.identity())
            let (after, new) = try await connect(listener)
            #expect(new.certificate == (try TestCertificate.two.presented()))
            for client in [before, after] {
                try await client.send(Self.get("/still", Self.close))
                #expect(await client.receiveToEnd().hasSuffix("/still"))
            }
        }
    }

    @Test("Handshakes succeed while the certificate changes")
    func handshakesSucceedWhileTheCertificateChanges() async throws {
        try await withListener { listener, tls in
            try await withThrowingTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        for _ in 0..<12 {
                            let client = try await connect(listener).client
                            try await client.send(Self.get("/1", Self.close))
                            #expect(await client.receiveToEnd().hasSuffix("/1"))
                        }
                    }
                }
                for turn in 0..<50 {
                    try tls.replace((turn % 2 == 0 ? TestCertificate.two : .one).identity())
                    // This handshake separates two replacements.
                    try await connect(listener).client.channel.close(promise: nil)
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("A drain closes handshakes and idle connections")
    func aDrainClosesHandshakesAndIdleConnections() async throws {
        try await withListener { listener, _ in
            let silent = try await RawConnection.connect(to: listener.localAddress, group: Self.group)
            let idle = try await connect(listener).client
            try await idle.send(Self.get("/1"))
            _ = await idle.receive(endingWith: "/1")
            async let drained: Void = listener.drain(deadline: .now() + .seconds(30))
            #expect(await silent.receiveToEnd() == "")
            #expect(await idle.receiveToEnd() == "")
            await drained
        }
    }
}
