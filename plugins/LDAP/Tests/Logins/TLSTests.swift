import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import LDAP

extension DirectoryTests {
    /// Connections with ldaps and with StartTLS.
    @Suite("TLS")
    struct TLSTests {
        enum Mode: CaseIterable { case ldaps, startTLS }

        private static func authenticator(
            _ slapd: Slapd, _ mode: Mode, authorities: String
        ) -> LDAPAuthenticator {
            slapd.authenticator {
                $0.server.url = mode == .ldaps ? "ldaps://127.0.0.1:\(slapd.tlsPort)" : "ldap://127.0.0.1:\(slapd.port)"
                $0.server.usesStartTLS = mode == .startTLS
                $0.server.authorities = authorities
            }
        }

        @Test("A certificate of a configured authority for the host is accepted", arguments: Mode.allCases)
        func right(_ mode: Mode) async throws {
            let files = try TestFiles()
            let authorities = try files.write(TestCertificate.authority, to: "ca.pem")
            let slapd = try Slapd(Slapd.user("alice"), certificate: .one)
            let authenticator = Self.authenticator(slapd, mode, authorities: authorities)
            #expect(await authenticator.login("alice", "right").isGrant)
        }

        @Test(
            "A certificate for another host, an expired one, and one of another authority are refused without a bind",
            arguments: Mode.allCases)
        func wrong(_ mode: Mode) async throws {
            let files = try TestFiles()
            let authorities = try files.write(TestCertificate.authority, to: "ca.pem")
            // A certificate of an end entity, which signed nothing.
            let others = try files.write(TestCertificate.client.certificate, to: "others.pem")
            for (certificate, authorities) in [
                (TestCertificate.elsewhere, authorities), (.expired, authorities), (.one, others),
            ] {
                let slapd = try Slapd(Slapd.user("alice"), certificate: certificate)
                let authenticator = Self.authenticator(slapd, mode, authorities: authorities)
                #expect(await authenticator.login("alice", "right") == .unavailable(.unreachable))
                #expect(try slapd.operations("Bind") == 0)
            }
        }

        @Test(
            "A certificate without the address of the URL among its alternative names is refused without a bind",
            arguments: ServerNameCase.all)
        func names(_ example: ServerNameCase) async throws {
            let files = try TestFiles()
            let authorities = try files.write(ServerNameCase.authority, to: "ca.pem")
            let slapd = try Slapd(Slapd.user("alice"), certificate: example.certificate)
            for mode in Mode.allCases {
                let authenticator = Self.authenticator(slapd, mode, authorities: authorities)
                #expect(await authenticator.login("alice", "right").isGrant == example.isForAddress, "\(mode)")
                await authenticator.stop()
            }
            if !example.isForAddress { #expect(try slapd.operations("Bind") == 0) }
        }

        @Test("A server without StartTLS gets no password")
        func noStartTLS() async throws {
            let files = try TestFiles()
            let authorities = try files.write(TestCertificate.authority, to: "ca.pem")
            let slapd = try Slapd(Slapd.user("alice"))
            let authenticator = Self.authenticator(slapd, .startTLS, authorities: authorities)
            #expect(await authenticator.login("alice", "right") == .unavailable(.unreachable))
            #expect(try slapd.operations("Bind") == 0)
        }

        @Test("A server that offers only TLS 1.1 completes no handshake, and one with TLS 1.2 does")
        func oldVersions() async throws {
            let slapd = try Slapd(Slapd.user("alice"))
            for (version, isAccepted) in [("tls1_1", false), ("tls1_2", true)] {
                let server = try TLSServer(version: version)
                let authenticator = slapd.authenticator {
                    $0.server.url = "ldaps://127.0.0.1:\(server.port)"
                    $0.server.authorities = server.authorities
                    $0.timeout = .seconds(4)
                }
                // The server speaks no LDAP, so the login fails in either case.
                #expect(!(await authenticator.login("alice", "right")).isGrant)
                #expect(try server.log().contains("Finished") == isAccepted, "\(version)")
            }
        }

        @Test("Settings of the machine do not weaken the verification")
        func machineSettings() async throws {
            let files = try TestFiles()
            let slapd = try Slapd(Slapd.user("alice"), certificate: .elsewhere)
            let authorities = try files.write(TestCertificate.authority, to: "ca.pem")
            // The worker gets this variable through a shell that starts it, as a service manager could set it.
            let script = "#!/bin/sh\nLDAPTLS_REQCERT=never exec \(SystemTools.program) \"$@\"\n"
            let wrapper = try files.write(script, to: "wrapper", mode: 0o700)
            let authenticator = slapd.authenticator {
                $0.server.url = "ldaps://127.0.0.1:\(slapd.tlsPort)"
                $0.server.authorities = authorities
                $0.program = wrapper
            }
            #expect(await authenticator.login("alice", "right") == .unavailable(.unreachable))
            #expect(try slapd.operations("Bind") == 0)
        }
    }
}
