import ClientCertificate
import Foundation
import GatewayCore
import GatewaySupport
import GatewayTesting
import Logging
import NIOPosix
import Testing

@testable import GatewayConfiguration
@testable import GatewayHTTP

@Suite("Files that verify client certificates")
struct ClientAuthorityTests {
    private let root = TestAuthority()
    private let pool = BlockingPool(threads: .singleton, capacity: 4)
    private let clocks = Clocks(monotonic: Clocks.system.monotonic, wall: { .test })
    private let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private static let rest = """
        backend: { url: embedded }
        authenticators: [{ client-certificate: { user: cn } }]
        policy: { send: [{ from: "*", to: "*" }] }

        """

    private func read(
        _ listen: String, in directory: String = "", authenticators: String? = nil
    ) -> (ServerConfiguration?, [String]) {
        var text = Self.rest
        if let authenticators { text = text.replacing("client-certificate: { user: cn }", with: authenticators) }
        let (configuration, problems) = ConfigurationFile.read(
            "listen: [\(listen)]\n" + text, file: "gateway.yaml", directory: directory,
            catalog: PluginCatalog([ClientCertificatePlugin.self, FixedPlugin.self]))
        return (configuration, problems.map(\.description))
    }

    private static let secure =
        #"{ address: "127.0.0.1:0", tls: { certificate: c.pem, key: k.pem, clients: { ca: ca.pem, crl: r.pem } } }"#
    private static let proxied =
        #"{ address: "127.0.0.1:0", trusted-proxies: [unix], forwarded-certificates: { ca: ca.pem } }"#

    @Test("The keys are read with their defaults")
    func keys() throws {
        let listeners = try #require(read("\(Self.secure), \(Self.proxied)", in: "/d").0).listeners
        let files = ClientAuthorityFiles(authorities: "/d/ca.pem", revocationLists: "/d/r.pem")
        #expect(listeners[0].clients == ClientCertificateSection(files: files, isRequired: false))
        #expect(listeners[0].forwardedCertificates == nil)
        #expect(listeners[1].clients == nil)
        #expect(listeners[1].forwardedCertificates == ClientAuthorityFiles(authorities: "/d/ca.pem"))
        let required = Self.secure.replacing("crl: r.pem", with: "required: true")
        #expect(read(required).0?.listeners[0].clients?.isRequired == true)
    }

    @Test(
        "Each mistake is reported at its place",
        arguments: [
            (secure.replacing("ca: ca.pem, ", with: ""), "listen[0].tls.clients: \"ca\" is missing"),
            (secure.replacing("r.pem", with: "\"\""), "listen[0].tls.clients.crl: must not be empty"),
            (secure.replacing("crl: r.pem", with: "required: yes"), "clients.required: must be true or false"),
            (secure.replacing("crl: r.pem", with: "depth: 3"), "depth"),
            (
                proxied.replacing("trusted-proxies: [unix], ", with: ""),
                "applies only to listeners with trusted-proxies"
            ),
            (proxied.replacing("[unix]", with: "[unix], client-address: proxy-protocol"), "does not apply to"),
        ])
    func mistakes(_ listen: String, _ problem: String) {
        let problems = read(listen).1
        #expect(problems.contains { $0.contains(problem) }, "\(problems)")
    }

    @Test("Certificates that nobody accepts, and an authenticator that receives none, cause a warning")
    func unused() {
        func warns(_ result: (ServerConfiguration?, [String]), _ text: String) -> Bool {
            result.1.contains { $0.contains(text) }
        }
        let ignored = "no authenticator accepts them"
        #expect(warns(read(#"{ address: "127.0.0.1:0" }"#), "no listener has tls.clients"))
        #expect(!warns(read(Self.secure), "no listener has tls.clients"))
        #expect(warns(read(Self.secure, authenticators: "fixed: {}"), ignored))
        #expect(warns(read(Self.proxied, authenticators: "fixed: {}"), ignored))
        let required = Self.secure.replacing("crl: r.pem", with: "required: true")
        #expect(!warns(read(required, authenticators: "fixed: {}"), ignored))
    }

    private func write(_ files: TestFiles, revoking revoked: [TestClientCertificate] = []) throws {
        try files.write(TestCertificate.one.certificate, to: "c.pem")
        try files.write(TestCertificate.one.key, to: "k.pem", mode: 0o600)
        try files.write(root.certificate, to: "ca.pem")
        try files.write(root.revocationList(revoked), to: "r.pem")
    }

    @Test("check reports unusable files, and a start fails because of them")
    func check() throws {
        let files = try TestFiles()
        try write(files)
        let configuration = try #require(read("\(Self.secure), \(Self.proxied)", in: files.path).0)
        func problems() -> [String] {
            ConfiguredTLS.problems(configuration, clocks: clocks).filter { $0.severity == .error }
                .map { $0.description.replacing(files.path, with: "D") }
        }
        #expect(problems() == [])
        try files.write("nothing", to: "r.pem")
        #expect(problems() == ["D/r.pem: holds no certificate revocation list in PEM"])
        let padding = String(repeating: "#", count: CertificateFiles.maximumRevocationListLength)
        try files.write(root.revocationList() + padding, to: "r.pem")
        #expect(problems() == ["D/r.pem: is longer than 1048576 bytes"])
        let old = root.revocationList(validity: WallTime.test(minus: 20)...WallTime.test(minus: 10))
        try files.write(old, to: "r.pem")
        #expect(problems().count == 1 && problems()[0].contains("out of date since 2026-11-21T06:59:50"))
        #expect(throws: ConfigurationError.self) {
            try ConfiguredTLS(configuration, pool: pool, clocks: clocks, logger: logger)
        }
        try FileManager.default.removeItem(atPath: files.path + "/r.pem")
        #expect(problems().count == 1 && problems()[0].hasPrefix("D/r.pem: "))
        try write(files)
        try files.write(root.issue().certificate, to: "ca.pem")
        #expect(problems().count == 2 && problems()[0].contains("not an authority's: CN=alice"))
    }

    @Test("A reload replaces the revocation list; an unusable one leaves the previous in effect")
    func reload() async throws {
        let files = try TestFiles()
        try write(files)
        let configuration = try #require(read(Self.secure, in: files.path).0)
        let tls = try ConfiguredTLS(configuration, pool: pool, clocks: clocks, logger: logger)
        let verifier = try #require(tls.listeners[0]?.clients?.verifier)
        let leaf = root.issue()
        func result() -> String {
            switch verifier.verify([leaf.der], isResumed: false, now: .test).result {
            case .verified: "verified"
            case .invalid(let reason): reason.rawValue
            case .unverifiable: "unverifiable"
            }
        }
        let subject = try #require(
            tls.reloadable.first { $0.files == ["\(files.path)/ca.pem", "\(files.path)/r.pem"] })
        #expect(result() == "verified")
        try write(files, revoking: [leaf])
        #expect(await subject.reload() == [])
        #expect(result() == "revoked")
        try files.write("broken", to: "r.pem")
        #expect(await subject.reload().map(\.message) == ["holds no certificate revocation list in PEM"])
        #expect(result() == "revoked")
        try write(files)
        #expect(await subject.reload() == [])
        #expect(result() == "verified")
    }
}

extension WallTime {
    /// Returns the test time minus a number of seconds.
    fileprivate static func test(minus seconds: Int64) -> WallTime {
        WallTime(seconds: WallTime.test.seconds - seconds)
    }
}
