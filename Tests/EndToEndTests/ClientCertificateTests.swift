import ClientCertificate
import Foundation
import GatewayConfiguration
import GatewayCore
import GatewayServer
import GatewaySupport
import GatewayTesting
import HMACToken
import NIOCore
import StaticUsers
import Testing

@Suite("A gateway with client certificates", .timeLimit(.minutes(2)))
struct ClientCertificateTests {
    private let root = TestAuthority()

    /// A validity around the time of the machine.
    private static var validity: ClosedRange<WallTime> {
        let now = Clocks.system.wall().seconds
        return WallTime(seconds: now - 3600)...WallTime(seconds: now + 86_400)
    }

    private func issue(_ user: String) -> TestClientCertificate {
        root.issue {
            $0.commonNames = ["somebody"]
            $0.alternativeName = "email:\(user)@example.com"
            $0.validity = Self.validity
        }
    }

    private func list(_ revoked: [TestClientCertificate] = []) -> String {
        root.revocationList(revoked, validity: Self.validity)
    }

    /// Runs the body with a gateway whose listener asks for certificates. The body receives the port.
    private func run(_ body: (Int, TestFiles) async throws -> Void) async throws {
        let directory = try TestFiles()
        try directory.write(GatewayUnderTest.users, to: "users.yaml")
        try directory.write(GatewayUnderTest.keys, to: "token-keys.yaml")
        try directory.write(TestCertificate.one.certificate, to: "cert.pem")
        try directory.write(TestCertificate.one.key, to: "key.pem")
        try directory.write(root.certificate, to: "clients-ca.pem")
        try directory.write(list(), to: "clients.crl")
        let text = ConfiguredGateway.preamble.replacing(
            #"listen: [{ address: "127.0.0.1:0" }]"#,
            with: """
                listen:
                  - address: "127.0.0.1:0"
                    tls: { certificate: cert.pem, key: key.pem, clients: { ca: clients-ca.pem, crl: clients.crl } }
                """)
        let authenticators = """
            authenticators:
              - client-certificate: { user: email, suffix: "@example.com" }
              - hmac-token: { keys: token-keys.yaml }
              - static-users: { file: users.yaml }
            drain: { grace: 0s }

            """
        try await ConfiguredGateway.start(
            text + authenticators, in: directory,
            catalog: PluginCatalog([ClientCertificatePlugin.self, HMACTokenPlugin.self, StaticUsersPlugin.self])
        ) { gateway in
            guard case .tcp(_, let port) = gateway.listeners.first else {
                throw GatewayUnderTest.StartFailure(description: "no listener")
            }
            try await body(port, directory)
        }
    }

    private func client(_ port: Int, _ identity: TestClientCertificate?) throws -> RawClient {
        try RawClient(port: port, trusting: TestCertificate.authority, presenting: identity)
    }

    @Test("A certificate identifies a user, begins a session, and gives way to Authorization")
    func login() async throws {
        try await run { port, _ in
            let certified = try client(port, issue("carol"))
            let anonymous = try client(port, nil)
            let who = try await certified.call("GET", "/auth/whoami")
            #expect(who.status == 200 && who.text.contains(#""carol""#), "\(who.text)")
            #expect(try await certified.call("GET", "/auth/whoami", as: "alice").text.contains(#""alice""#))
            #expect(try await certified.call("GET", "/auth/whoami", as: "alice", password: "wrong").status == 401)
            let refused = try await anonymous.call("GET", "/auth/whoami")
            #expect(refused.status == 401 && refused.problem == "credentials-missing")
            let issued = try await certified.call("POST", "/auth/token")
            let object = try #require(try JSONSerialization.jsonObject(with: Data(issued.body)) as? [String: Any])
            let token = try #require(object["access_token"] as? String)
            #expect(try await anonymous.call("GET", "/auth/whoami", token: token).text.contains(#""carol""#))
        }
    }

    @Test("A name outside the rules is rejected, and a certificate of another authority")
    func rejected() async throws {
        try await run { port, _ in
            let unmapped = try await client(port, issue("*")).call("GET", "/auth/whoami")
            #expect(unmapped.status == 403 && unmapped.problem == "identity-unmapped")
            let foreign = TestAuthority().issue { $0.validity = Self.validity }
            let untrusted = try await client(port, foreign).call("GET", "/auth/whoami")
            #expect(untrusted.status == 401 && untrusted.problem == "credentials-rejected")
        }
    }

    @Test("A new revocation list ends a certificate on its open connection without a restart")
    func revocation() async throws {
        try await run { port, directory in
            let (revoked, other) = (issue("carol"), issue("dave"))
            let connection = try await client(port, revoked).connect()
            func status() async throws -> Int? {
                try await connection.send(RawClient.request("GET", "/auth/whoami"))
                return RawClient.parse(await connection.receiveBytes { RawClient.parse($0) != nil })?.status
            }
            #expect(try await status() == 200)
            try directory.write(list([revoked]), to: "clients.crl")
            // Each call awaits the gateway, which checks its files every 250 ms.
            while try await status() == 200 { try Task.checkCancellation() }
            #expect(try await status() == 401)
            #expect(try await client(port, revoked).call("GET", "/auth/whoami").status == 401)
            #expect(try await client(port, other).call("GET", "/auth/whoami").status == 200)
            connection.channel.close(promise: nil)
        }
    }

    @Test("A resumed session keeps its user and notices a revocation", arguments: ["-tls1_2", "-tls1_3"])
    func resumption(_ version: String) async throws {
        try await run { port, directory in
            let leaf = issue("carol")
            try directory.write(leaf.certificate, to: "client.pem")
            try directory.write(leaf.key, to: "client-key.pem")
            func call(_ session: String...) async throws -> String {
                try await Program.execute(
                    "/usr/bin/openssl",
                    ["s_client", "-connect", "127.0.0.1:\(port)", "-servername", "localhost", version, "-ign_eof"]
                        + ["-cert", "client.pem", "-key", "client-key.pem"] + session,
                    input: RawClient.request("GET", "/auth/whoami").replacing(
                        "Host:", with: "Connection: close\r\nHost:"),
                    in: directory.path
                ).output
            }
            let first = try await call("-sess_out", "session.pem")
            #expect(first.contains(#""carol""#) && first.contains("New, TLS"), "\(first)")
            let second = try await call("-sess_in", "session.pem")
            #expect(second.contains(#""carol""#) && second.contains("Reused, TLS"), "\(second)")
            try directory.write(list([leaf]), to: "clients.crl")
            let reload = try await Program.run(["reload", "--config", "gateway.yaml"], in: directory.path)
            #expect(reload.status == 0, "\(reload)")
            // The reload makes new ticket keys, so the session may or may not be resumed. Either way it has ended.
            let third = try await call("-sess_in", "session.pem")
            #expect(third.contains("HTTP/1.1 401"), "\(third)")
        }
    }
}
