/// A server's certificate that differs from others in its names only, with what a client must decide about it (RFC 9525).
///
/// Each client that opens connections with TLS has a test with all of them: the certificate of a server that listens on
/// 127.0.0.1, to which `localhost` resolves as an attacker's answer would.
public struct ServerNameCase: Sendable, CustomStringConvertible {
    /// The names in the certificate.
    public let description: String
    /// A certificate of ``authority``.
    public let certificate: TestCertificate
    /// The DER encoding of the certificate.
    public let der: [UInt8]
    /// Whether a client that was configured with `localhost` accepts it.
    public let isForName: Bool
    /// Whether a client that was configured with 127.0.0.1 accepts it.
    public let isForAddress: Bool

    /// The root of the certificates, in PEM.
    public static var authority: String { root.certificate }
    private static let root = TestAuthority("Test Server CA", validity: TestAuthority.lasting)

    private init(_ name: String?, commonName: String = "server", name isForName: Bool, address isForAddress: Bool) {
        let issued = Self.root.issue {
            $0.commonNames = [commonName]
            $0.alternativeName = name
            $0.usage = "serverAuth"
            $0.validity = TestAuthority.lasting
        }
        der = issued.der
        certificate = TestCertificate(certificate: issued.certificate, key: issued.key)
        description = "\(name ?? "no alternative name"), CN=\(commonName)"
        self.isForName = isForName
        self.isForAddress = isForAddress
    }

    /// The cases: the kinds of names, alone and together, and the common name beside each.
    public static let all = [
        ServerNameCase("DNS:localhost", name: true, address: false),
        ServerNameCase("DNS:LOCALHOST", name: true, address: false),
        ServerNameCase("DNS:localhost,IP:127.0.0.1", name: true, address: true),
        ServerNameCase("DNS:other.test,DNS:localhost", commonName: "other.test", name: true, address: false),
        // An attacker who owns the address has such a certificate.
        ServerNameCase("IP:127.0.0.1", name: false, address: true),
        ServerNameCase("IP:127.0.0.1", commonName: "localhost", name: false, address: true),
        ServerNameCase("DNS:other.test,IP:127.0.0.1", commonName: "localhost", name: false, address: true),
        ServerNameCase("IP:127.0.0.2", commonName: "127.0.0.1", name: false, address: false),
        ServerNameCase(nil, commonName: "localhost", name: false, address: false),
        ServerNameCase(nil, commonName: "127.0.0.1", name: false, address: false),
        ServerNameCase("DNS:127.0.0.1", commonName: "127.0.0.1", name: false, address: false),
        ServerNameCase("email:a@localhost", commonName: "localhost", name: false, address: false),
        ServerNameCase("URI:https://localhost", commonName: "localhost", name: false, address: false),
        ServerNameCase("DNS:local*", name: false, address: false),
        ServerNameCase("DNS:*", name: false, address: false),
        ServerNameCase("DNS:www.localhost", name: false, address: false),
    ]
}
