import Foundation
import GatewayConfiguration
import GatewayCore
import GatewayServer
import GatewayTesting
import NIOCore
import NIOPosix
import NIOSSL
import StaticUsers
import Testing

@Suite("A gateway with TLS", .timeLimit(.minutes(2)))
struct TLSTests {
    /// Runs the body with a gateway whose TLS listener uses the certificate `one`.
    private func run(_ body: (RawClient, TestFiles) async throws -> Void) async throws {
        let directory = try TestFiles()
        try directory.write(GatewayUnderTest.users, to: "users.yaml")
        try Self.write(.one, to: directory)
        let text = ConfiguredGateway.preamble.replacing(
            #"listen: [{ address: "127.0.0.1:0" }]"#,
            with: #"listen: [{ address: "0.0.0.0:0", tls: { certificate: cert.pem, key: key.pem } }]"#)
        try await ConfiguredGateway.start(
            text + "authenticators: [{ static-users: { file: users.yaml } }]\ndrain: { grace: 0s }\n", in: directory,
            catalog: PluginCatalog([StaticUsersPlugin.self])
        ) { gateway in
            guard case .tcp(_, let port) = gateway.listeners.first else {
                throw GatewayUnderTest.StartFailure(description: "no listener")
            }
            try await body(RawClient(port: port, trusting: TestCertificate.authority), directory)
        }
    }

    /// Replaces both files, each atomically. Between the two replacements, key and certificate do not match.
    private static func write(_ certificate: TestCertificate, to directory: TestFiles) throws {
        for (name, text) in [("cert.pem", certificate.certificate), ("key.pem", certificate.key)] {
            try directory.write(text, to: "\(name).new")
            guard rename("\(directory.path)/\(name).new", "\(directory.path)/\(name)") == 0 else {
                throw GatewayUnderTest.StartFailure(description: "\(name) was not replaced")
            }
        }
    }

    @Test("The gateway verifies credentials over TLS on any address")
    func credentials() async throws {
        try await run { client, _ in
            let good = try await client.call("GET", "/auth/whoami", as: "alice")
            let bad = try await client.call("GET", "/auth/whoami", as: "alice", password: "wrong")
            #expect((good.status, bad.status) == (200, 401))
        }
    }

    @Test("New connections use a replaced certificate, an invalid pair is ignored, and no handshake fails meanwhile")
    func swaps() async throws {
        try await run { client, directory in
            let done = Flag()
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask { try await Self.call(client, until: done) }
                }
                let swaps = TestRun.count(full: 50, otherwise: 3)
                for turn in 0..<swaps {
                    let certificate = turn % 2 == 0 ? TestCertificate.two : .one
                    try Self.write(certificate, to: directory)
                    try await connect(client, untilItPresents: certificate)
                }
                let current = swaps % 2 == 1 ? TestCertificate.two : .one
                // With the key of another certificate or an invalid key, the gateway keeps the previous pair.
                for key in [TestCertificate.elsewhere.key, "broken"] {
                    try directory.write(key, to: "key.pem")
                    let said = try await reload(directory)
                    #expect(said.status == 1 && said.output.contains("key.pem"), "\(said)")
                    let (shown, expected) = (try await client.certificate(), try current.leaf())
                    #expect(shown == expected)
                }
                done.raise()
                try await group.waitForAll()
            }
        }
    }

    private static func call(_ client: RawClient, until done: Flag) async throws {
        var calls = 0
        while !done.isRaised {
            let answer = try await client.call("GET", "/auth/whoami", as: "alice")
            #expect(answer.status == 200)
            calls += 1
        }
        #expect(calls > 0)
    }

    private func reload(_ directory: TestFiles) async throws -> Program.Outcome {
        try await Program.run(["reload", "--config", "gateway.yaml"], in: directory.path)
    }

    /// Connects until a new connection shows the certificate. Only a handshake shows which one applies, and each one
    /// awaits the gateway.
    private func connect(_ client: RawClient, untilItPresents certificate: TestCertificate) async throws {
        let leaf = try certificate.leaf()
        while try await client.certificate() != leaf { try Task.checkCancellation() }
    }
}

extension TestCertificate {
    fileprivate func leaf() throws -> NIOSSLCertificate? {
        try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)).first
    }
}

extension RawClient {
    /// Returns the certificate of a new connection after one call on it.
    fileprivate func certificate() async throws -> NIOSSLCertificate? {
        let (certificates, shown) = AsyncStream<NIOSSLCertificate?>.makeStream()
        _ = try await send(Array(Self.request("GET", "/auth/whoami").utf8)) { channel in
            let handler = try? channel.pipeline.syncOperations.handler(type: NIOSSLClientHandler.self)
            shown.yield(handler?.peerCertificate)
        }
        shown.finish()
        for await certificate in certificates { return certificate }
        return nil
    }
}
