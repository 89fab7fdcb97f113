import GatewayCore
import GatewayTesting
import NIOCore
import NIOPosix
import NIOSSL
import Testing

@testable import Gateway
@testable import GatewayHTTP

/// Tests of the connection to a backend with TLS.
@Suite(.timeLimit(.minutes(1)))
struct UpstreamTLSTests {
    private func answer(
        of certificate: TestCertificate, trusting authorities: String? = TestCertificate.authority,
        as client: TestCertificate? = nil, asked: Bool = false, host: String = "localhost", name: String? = nil
    ) async throws -> (answer: BackendResult, requests: Int) {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var server = try certificate.serverConfiguration()
        if asked {
            server.certificateVerification = .noHostnameVerification
            server.trustRoots = .certificates(
                try NIOSSLCertificate.fromPEMBytes(Array(TestCertificate.authority.utf8)))
        }
        let context = try NIOSSLContext(configuration: server)
        let backend = try await ScriptedServer.start {
            try $0.addHandler(NIOSSLServerHandler(context: context))
        } _: { _ in
            [.write(ScriptedServer.ok("yes"))]
        }
        var configuration = UpstreamConfiguration(address: .tls(host: host, port: backend.port))
        let identity = try client?.identity()
        if let authorities {
            configuration.tls = try ClientTLS(.init(authorities: authorities, identity: identity), name: name)
        }
        let upstream = try await Upstream.start(configuration: configuration, group: group)
        let answer = await upstream.exchange(
            RecordedRequest(
                id: CallID(process: 1, number: 1), bytes: ByteBuffer(string: "GET / HTTP/1.1\r\nHost: b\r\n\r\n"),
                isRetryable: false, deadline: .now() + .seconds(30)))
        await upstream.shutdown()
        await backend.stop()
        try await group.shutdownGracefully()
        return (answer, backend.seen.count)
    }

    /// A backend that is not verified never receives a byte of a request. The result is `.unreachable`, not `.broken`.
    private func isUnreachable(_ result: (answer: BackendResult, requests: Int)) -> Bool {
        if case .unreachable = result.answer { result.requests == 0 } else { false }
    }

    private func isAnswered(_ result: (answer: BackendResult, requests: Int)) -> Bool {
        if case .responded(let response) = result.answer { response.status == 200 } else { false }
    }

    @Test("A backend with the expected name is used") func aBackendWithTheExpectedNameIsUsed() async throws {
        #expect(isAnswered(try await answer(of: .one)))
        #expect(isAnswered(try await answer(of: .one, host: "127.0.0.1")))
        #expect(isAnswered(try await answer(of: .elsewhere, name: "elsewhere.test")))
    }

    @Test("A backend with another name is rejected") func aBackendWithAnotherNameIsRejected() async throws {
        #expect(isUnreachable(try await answer(of: .elsewhere)))
        #expect(isUnreachable(try await answer(of: .elsewhere, host: "127.0.0.1")))
        #expect(isUnreachable(try await answer(of: .elsewhere, name: "gateway.test")))
    }

    @Test("A backend is used only if its certificate has the configured name", arguments: ServerNameCase.all)
    func aBackendIsUsedOnlyIfItsCertificateHasTheConfiguredName(_ example: ServerNameCase) async throws {
        for (host, name, isValid) in [
            ("localhost", nil, example.isForName), ("127.0.0.1", nil, example.isForAddress),
            ("localhost", "127.0.0.1", example.isForAddress), ("127.0.0.1", "localhost", example.isForName),
            // The configured address is another one than that of the connection.
            ("localhost", "192.0.2.1", false), ("127.0.0.1", "192.0.2.1", false),
        ] as [(String, String?, Bool)] {
            let result = try await answer(
                of: example.certificate, trusting: ServerNameCase.authority, host: host, name: name)
            #expect(isValid ? isAnswered(result) : isUnreachable(result), "\(host), \(name ?? "-")")
        }
    }

    @Test("The reason names the server and what its certificate lacks") func theReasonNamesTheServer() async throws {
        let result = try await answer(of: .elsewhere, host: "localhost").answer
        guard case .unreachable(let reason) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(
            reason == "cannot connect to the backend: the server's certificate is for another name: localhost is not "
                + "among the DNS names of its subject alternative names")
    }

    @Test("A backend with an expired certificate is rejected")
    func aBackendWithAnExpiredCertificateIsRejected() async throws {
        #expect(isUnreachable(try await answer(of: .expired)))
    }

    @Test("Only the configured authority is trusted") func onlyTheConfiguredAuthorityIsTrusted() async throws {
        #expect(isUnreachable(try await answer(of: .one, trusting: TestCertificate.two.certificate)))
        #expect(isUnreachable(try await answer(of: .one, trusting: nil)))
    }

    @Test("The gateway sends its client certificate") func theGatewaySendsItsClientCertificate() async throws {
        #expect(isAnswered(try await answer(of: .one, as: .client, asked: true)))
    }

    @Test("A backend that never completes its handshake is unreachable")
    func aBackendThatNeverCompletesItsHandshakeIsUnreachable() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let silent = try await ServerBootstrap(group: group).bind(host: "127.0.0.1", port: 0).get()
        var configuration = UpstreamConfiguration(
            address: .tls(host: "127.0.0.1", port: silent.localAddress?.port ?? 0))
        configuration.connectTimeout = .milliseconds(100)
        let upstream = try await Upstream.start(configuration: configuration, group: group)
        let answer = await upstream.exchange(
            RecordedRequest(
                id: CallID(process: 1, number: 1), bytes: ByteBuffer(string: "GET / HTTP/1.1\r\nHost: b\r\n\r\n"),
                isRetryable: false, deadline: .now() + .seconds(30)))
        #expect(isUnreachable((answer, 0)))
        await upstream.shutdown()
        try await silent.close()
        try await group.shutdownGracefully()
    }
}
