import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayHTTP

@Suite("Certificates and their keys")
struct TLSIdentityTests {
    @Test("A certificate chain with its key is accepted with its validity")
    func pair() throws {
        let one = TestCertificate.one
        #expect(try one.identity().chain.count == 1)
        let chain = try TLSIdentity(certificates: one.certificate + TestCertificate.authority, key: one.key)
        #expect(chain.chain.count == 2)
        #expect(chain.end > chain.beginning)
        #expect(try TestCertificate.expired.identity().end.description == "2021-01-01T00:00:00.000000Z")
    }

    @Test(
        "An invalid pair is rejected with its reason",
        arguments: [
            (TestCertificate.one.certificate, TestCertificate.two.key, TLSConfigurationError.mismatch),
            (TestCertificate.authority + TestCertificate.one.certificate, TestCertificate.one.key, .mismatch),
            ("", TestCertificate.one.key, .noCertificate),
            (TestCertificate.one.key, TestCertificate.one.key, .noCertificate),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", TestCertificate.one.key, .noCertificate),
            (TestCertificate.one.certificate, "", .noKey),
            (TestCertificate.one.certificate, TestCertificate.one.certificate, .noKey),
            (
                TestCertificate.one.certificate,
                TestCertificate.one.key.replacing("PRIVATE KEY", with: "ENCRYPTED PRIVATE KEY"), .encryptedKey
            ),
        ])
    func noPair(_ certificates: String, _ key: String, _ fault: TLSConfigurationError) {
        #expect(throws: fault) { try TLSIdentity(certificates: certificates, key: key) }
    }

    @Test("Invalid authorities are rejected")
    func authorities() {
        for text in ["", "no certificate", TestCertificate.one.key] {
            #expect(throws: TLSConfigurationError.noAuthority) { try ClientTLS.Settings(authorities: text) }
        }
    }
}
