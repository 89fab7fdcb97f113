import GatewayCore
import GatewayHTTP
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayConfiguration

@Suite("Certificate files")
struct CertificateFilesTests {
    private let now = WallTime(seconds: 1_900_000_000)

    private func pair(_ certificate: TestCertificate, keyMode: Int = 0o600) throws -> (TLSFiles, TestFiles) {
        let directory = try TestFiles()
        let files = TLSFiles(
            certificate: try directory.write(certificate.certificate, to: "cert.pem", mode: 0o644),
            key: try directory.write(certificate.key, to: "key.pem", mode: keyMode))
        return (files, directory)
    }

    @Test(
        "A private key that other users can access is rejected",
        arguments: [(0o600, true), (0o640, true), (0o644, false), (0o660, false), (0o606, false)])
    func modes(_ mode: Int, _ isGood: Bool) throws {
        let (files, directory) = try pair(.one, keyMode: mode)
        if isGood {
            #expect(try CertificateFiles.identity(files).end > now)
        } else {
            let problem = #expect(throws: ConfigurationProblem.self) { try CertificateFiles.identity(files) }
            #expect(problem?.message.contains("lets other users access it") == true)
        }
        _ = directory
    }

    @Test("A problem of a certificate or key names its file")
    func problems() throws {
        let (files, directory) = try pair(.one)
        func problem() -> String {
            do throws(ConfigurationProblem) {
                _ = try CertificateFiles.identity(files)
                return "none"
            } catch {
                return "\(error)".replacing(directory.path, with: "D")
            }
        }
        #expect(problem() == "none")
        try directory.write(TestCertificate.two.key, to: "key.pem")
        #expect(problem() == "D/key.pem: is not the key of the certificate in D/cert.pem")
        try directory.write("nothing", to: "key.pem")
        #expect(problem() == "D/key.pem: holds no private key in PEM")
        try directory.write(TestCertificate.one.key, to: "key.pem")
        try directory.write("nothing", to: "cert.pem")
        #expect(problem() == "D/cert.pem: holds no certificate in PEM")
    }

    @Test("A listener reports the expiry of its certificate and whether a replacement differs")
    func replacing() throws {
        let (one, two) = (TestCertificate.one, TestCertificate.two)
        let first = try TLSIdentity(certificates: one.certificate, key: one.key)
        let second = try TLSIdentity(certificates: two.certificate, key: two.key)
        let tls = try ServerTLS(first)
        #expect(tls.certificateExpiry == first.end)
        let isSame = try tls.replace(first)
        #expect(!isSame)
        let isOther = try tls.replace(second)
        #expect(isOther)
        #expect(tls.certificateExpiry == second.end)
    }

    @Test("A certificate that is expired, expires soon or is not yet valid causes a warning")
    func ends() throws {
        let files = TLSFiles(certificate: "cert.pem", key: "key.pem")
        func warning(_ certificate: TestCertificate, daysToTheEnd: Int64?) throws -> String {
            let identity = try TLSIdentity(certificates: certificate.certificate, key: certificate.key)
            let now = daysToTheEnd.map { WallTime(seconds: identity.end.seconds - $0 * 86_400) } ?? now
            return CertificateFiles.warnings(of: identity, in: files, now: now).map { "\($0)" }.joined()
        }
        #expect(try warning(.one, daysToTheEnd: nil) == "")
        #expect(try warning(.one, daysToTheEnd: 15) == "")
        #expect(try warning(.one, daysToTheEnd: 13).hasPrefix("cert.pem: warning: expires at 2126-"))
        #expect(
            try warning(.expired, daysToTheEnd: nil)
                == "cert.pem: warning: expired at 2021-01-01T00:00:00.000000Z; clients reject it")
        let identity = try TLSIdentity(certificates: TestCertificate.one.certificate, key: TestCertificate.one.key)
        let before = WallTime(seconds: identity.beginning.seconds - 60)
        #expect(CertificateFiles.warnings(of: identity, in: files, now: before).count == 1)
    }

    @Test("`check` reports the problems of each certificate")
    func check() async throws {
        let directory = try TestFiles()
        for (name, certificate) in [("one", TestCertificate.one), ("expired", .expired)] {
            try directory.write(certificate.certificate, to: "\(name).pem")
            try directory.write(certificate.key, to: "\(name).key")
        }
        try directory.write(
            """
            listen:
              - { address: "127.0.0.1:1", tls: { certificate: one.pem, key: one.key } }
              - { address: "127.0.0.1:2", tls: { certificate: one.pem, key: expired.key } }
              - { address: "127.0.0.1:3", tls: { certificate: expired.pem, key: expired.key } }
            backend: { url: "https://backend.test", tls: { ca: none.pem, certificate: one.pem, key: none.key } }
            authenticators: [{ fixed: {} }]
            policy: { send: [{ from: "*", to: "*" }] }
            journal: { directory: journal }
            ledger: { file: ledger.sqlite, migrated: true }
            """, to: "gateway.yaml")
        let problems = await ConfigurationCheck.problems(
            of: "\(directory.path)/gateway.yaml", catalog: PluginCatalog([FixedPlugin.self]))
        let texts = problems.map { "\($0)".replacing(directory.path, with: "D") }.filter {
            $0.contains(".pem") || $0.contains(".key")
        }
        #expect(
            texts == [
                "D/expired.key: is not the key of the certificate in D/one.pem",
                "D/expired.pem: warning: expired at 2021-01-01T00:00:00.000000Z; clients reject it",
                "D/none.key: does not exist",
                "D/none.pem: does not exist",
            ])
    }
}
