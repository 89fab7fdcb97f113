import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@testable import GatewayHTTP

/// Tests of client certificates over loopback sockets.
@Suite(.timeLimit(.minutes(1)))
struct ListenerCertificateTests {
    private static let group = MultiThreadedEventLoopGroup.singleton
    /// Responds with the result for the certificate, and with `+authorization` if the field is present.
    private static let responder = ClosureResponder { request in
        let field = request.authorization == .absent ? "" : "+authorization"
        return Response(status: 200, body: Array("\(request.certificate?.text ?? "none")\(field).".utf8))
    }
    /// The clocks of the listeners: the certificates of ``TestAuthority`` are valid at `.test`.
    private static let clocks = Clocks(monotonic: Clocks.system.monotonic, wall: { .test })

    private let root = TestAuthority()

    private func withListener(
        _ verifier: ClientCertificateVerifier, required: Bool = false,
        configure: (inout ListenerConfiguration) -> Void = { _ in }, _ body: (Listener) async throws -> Void
    ) async throws {
        var configuration = ListenerConfiguration(address: .tcp(host: "127.0.0.1", port: 0))
        configuration.tls = try ServerTLS(
            TestCertificate.one.identity(), clients: .init(verifier, isRequired: required))
        configure(&configuration)
        let listener = try await Listener.start(
            configuration: configuration, serving: Self.responder, group: Self.group, clocks: Self.clocks)
        do {
            try await body(listener)
        } catch {
            await listener.close()
            throw error
        }
        await listener.close()
    }

    /// Sends a request on the connection. Returns the body of the response; nil if the connection closes instead.
    private func call(_ client: RawConnection, _ fields: String = "") async throws -> String? {
        try await client.send("GET / HTTP/1.1\r\nHost: a\r\n\(fields)\r\n")
        let response = await client.receive { $0.contains("\r\n\r\n") && $0.hasSuffix(".") }
        guard let end = response.firstRange(of: "\r\n\r\n"), response.hasSuffix(".") else { return nil }
        let body = response[end.upperBound...]
        return String(body.dropLast())
    }

    private func connect(
        _ listener: Listener, _ identity: TestClientCertificate?, sending intermediates: String = "",
        version: TLSVersion? = nil
    ) async throws -> RawConnection {
        let offer = TLSOffer(version: version, identity: identity, intermediates: intermediates)
        return try await RawConnection.connect(to: listener.localAddress, offering: offer, group: Self.group).client
    }

    /// Connects and calls. Returns nil if the handshake fails or the connection closes without a response.
    private func result(
        _ listener: Listener, _ identity: TestClientCertificate?, sending intermediates: String = "",
        version: TLSVersion? = nil
    ) async -> String? {
        guard let client = try? await connect(listener, identity, sending: intermediates, version: version) else {
            return nil
        }
        let result = try? await call(client)
        client.channel.close(promise: nil)
        return result
    }

    @Test(
        "A certificate is verified in the handshake, and the call has the result",
        arguments: [TLSVersion.tlsv12, .tlsv13])
    func optional(_ version: TLSVersion) async throws {
        let middle = root.subordinate("Middle")
        let revoked = root.issue()
        let verifier = ClientCertificateVerifier(
            try .of(root, revoking: root.revocationList([revoked]) + middle.revocationList()))
        let past = WallTime.test(plus: -100)...WallTime.test(plus: -50)
        try await withListener(verifier) { listener in
            #expect(await result(listener, nil, version: version) == "none")
            #expect(await result(listener, root.issue(), version: version) == "CN=alice")
            let (leaf, chain) = (middle.issue(), middle.certificate)
            #expect(await result(listener, leaf, sending: chain, version: version) == "CN=alice")
            #expect(await result(listener, leaf, version: version) == "untrusted")
            #expect(await result(listener, revoked, version: version) == "revoked")
            #expect(await result(listener, root.issue { $0.validity = past }, version: version) == "expired")
            #expect(await result(listener, root.issue { $0.usage = "serverAuth" }, version: version) == "untrusted")
            #expect(await result(listener, TestAuthority("Other").issue(), version: version) == "untrusted")
        }
    }

    @Test(
        "Where a certificate is required, a handshake without a valid one fails",
        arguments: [TLSVersion.tlsv12, .tlsv13])
    func required(_ version: TLSVersion) async throws {
        let revoked = root.issue()
        let verifier = ClientCertificateVerifier(try .of(root, revoking: root.revocationList([revoked])))
        let past = WallTime.test(plus: -100)...WallTime.test(plus: -50)
        try await withListener(verifier, required: true) { listener in
            #expect(await result(listener, nil, version: version) == nil)
            #expect(await result(listener, revoked, version: version) == nil)
            #expect(await result(listener, root.issue { $0.validity = past }, version: version) == nil)
            #expect(await result(listener, TestAuthority("Other").issue(), version: version) == nil)
            #expect(await result(listener, root.issue(), version: version) == "CN=alice")
        }
    }

    @Test("HTTP/2 calls have the certificate of their connection")
    func http2() async throws {
        let verifier = ClientCertificateVerifier(try .of(root))
        let leaf = root.issue()
        let configure: (inout ListenerConfiguration) -> Void = { $0.supportsHTTP2 = true }
        try await withListener(verifier, configure: configure) { listener in
            let fixture = HTTP2Fixture(listener: listener)
            let client = try await fixture.connectByTLS(protocols: ["h2"], identity: leaf)
            for stream in [UInt32(1), 3] {
                try await client.send(.headers(stream, HTTP2Fixture.get("/")))
                #expect(await client.answer(on: stream).body == "CN=alice.")
            }
            let anonymous = try await fixture.connectByTLS(protocols: ["h2"])
            try await anonymous.send(.headers(1, HTTP2Fixture.get("/")))
            #expect(await anonymous.answer(on: 1).body == "none.")
        }
    }

    @Test("A call with Authorization does not have the certificate")
    func authorization() async throws {
        try await withListener(ClientCertificateVerifier(try .of(root))) { listener in
            let client = try await connect(listener, root.issue())
            #expect(try await call(client, "Authorization: Bearer x\r\n") == "none+authorization")
            #expect(try await call(client) == "CN=alice")
        }
    }

    @Test("A new revocation list ends a certificate on its open connection")
    func revocation() async throws {
        let (leaf, other) = (root.issue(), root.issue())
        let verifier = ClientCertificateVerifier(try .of(root, revoking: root.revocationList()))
        try await withListener(verifier) { listener in
            let (client, unaffected) = (try await connect(listener, leaf), try await connect(listener, other))
            #expect(try await call(client) == "CN=alice")
            verifier.replace(try .of(root, revoking: root.revocationList([leaf])))
            #expect(try await call(client) == "revoked")
            #expect(try await call(unaffected) == "CN=alice")
            #expect(try await call(client, "Authorization: Bearer x\r\n") == "none+authorization")
        }
    }

    @Test("Where a certificate is required, no other credential replaces one that was revoked")
    func revocationWhereRequired() async throws {
        let leaf = root.issue()
        let verifier = ClientCertificateVerifier(try .of(root, revoking: root.revocationList()))
        try await withListener(verifier, required: true) { listener in
            let client = try await connect(listener, leaf)
            #expect(try await call(client, "Authorization: Bearer x\r\n") == "none+authorization")
            verifier.replace(try .of(root, revoking: root.revocationList([leaf])))
            #expect(try await call(client, "Authorization: Bearer x\r\n") == "revoked")
        }
    }

    private static func trust(_ range: String) -> TrustedProxies {
        TrustedProxies(proxies: [AddressRange(range)].compactMap(\.self))
    }

    @Test("The certificate of a trusted proxy's own connection is never the client's")
    func proxyItself() async throws {
        let verifier = ClientCertificateVerifier(try .of(root))
        let configure: (inout ListenerConfiguration) -> Void = { $0.trustedProxies = Self.trust("127.0.0.1") }
        try await withListener(verifier, configure: configure) { listener in
            let client = try await connect(listener, root.issue())
            #expect(try await call(client) == "none")
        }
    }

    private func field(_ leaf: TestClientCertificate) -> String {
        "Client-Cert: :\(String(decoding: Base64.encode(leaf.der, .standard), as: UTF8.self)):\r\n"
    }

    /// Sends a request with `Client-Cert` over a plaintext listener.
    private func forwarded(_ fields: String, from range: String, accepts: Bool = true) async throws -> String? {
        var configuration = ListenerConfiguration(address: .tcp(host: "127.0.0.1", port: 0))
        configuration.trustedProxies = Self.trust(range)
        if accepts { configuration.forwardedCertificates = ClientCertificateVerifier(try .of(root)) }
        let listener = try await Listener.start(
            configuration: configuration, serving: Self.responder, group: Self.group, clocks: Self.clocks)
        let client = try await RawConnection.connect(to: listener.localAddress, group: Self.group)
        let result = try await call(client, fields)
        await listener.close()
        return result
    }

    @Test("Client-Cert counts only from a trusted proxy, and only where the listener accepts it")
    func forwardedCertificates() async throws {
        let field = field(root.issue())
        #expect(try await forwarded(field, from: "127.0.0.1") == "CN=alice")
        #expect(try await forwarded(field, from: "10.0.0.0/8") == "none")
        #expect(try await forwarded(field, from: "127.0.0.1", accepts: false) == "none")
        #expect(try await forwarded(field + "Authorization: Bearer x\r\n", from: "127.0.0.1") == "none+authorization")
    }

    @Test("A malformed, repeated or foreign Client-Cert is an invalid certificate, and other fields are ignored")
    func malformedForwardedCertificates() async throws {
        let field = field(root.issue())
        #expect(try await forwarded(field + field, from: "127.0.0.1") == "malformed")
        #expect(try await forwarded("Client-Cert: x\r\n", from: "127.0.0.1") == "malformed")
        #expect(try await forwarded("Client-Cert:\r\n", from: "127.0.0.1") == "malformed")
        #expect(try await forwarded("Client-Cert: \u{E9}\r\n", from: "127.0.0.1") == "malformed")
        #expect(try await forwarded(self.field(TestAuthority("Other").issue()), from: "127.0.0.1") == "untrusted")
        for name in ["X-SSL-Client-Cert", "X-Client-Cert", "Client_Cert", "ClientCert", "Client-Certificate"] {
            let other = field.replacing("Client-Cert", with: name)
            #expect(try await forwarded(other, from: "127.0.0.1") == "none", "\(name)")
        }
    }
}
