internal import GatewayCore
internal import GatewayHTTP
internal import GatewaySupport

/// The files of a certificate and its key.
public struct TLSFiles: Sendable, Hashable {
    /// The certificate chain in PEM, the server's own certificate first.
    public var certificate: String
    /// The unencrypted private key in PEM. Other users must have no access to the file.
    public var key: String

    /// Creates the names of a certificate's two files.
    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }
}

/// The files that verify client certificates.
public struct ClientAuthorityFiles: Sendable, Hashable {
    /// The certificates of the trusted authorities in PEM.
    public var authorities: String
    /// The revocation lists of the authorities in PEM; nil if revocation is not checked.
    public var revocationLists: String?

    /// Creates the names of the files.
    package init(authorities: String, revocationLists: String? = nil) {
        self.authorities = authorities
        self.revocationLists = revocationLists
    }
}

/// The client certificates that a listener asks for in the TLS handshake.
public struct ClientCertificateSection: Sendable, Hashable {
    /// The files that verify them.
    public var files: ClientAuthorityFiles
    /// Whether a handshake without a valid certificate fails.
    public var isRequired: Bool
}

/// The verification of a backend with TLS, and the client certificate of the gateway.
public struct BackendTLSSection: Sendable, Hashable {
    /// The file of the trusted authorities; nil for those of the system.
    public var authority: String?
    /// The client certificate, for a backend that requests one.
    public var identity: TLSFiles?
    /// The name that the backend's certificate must contain; nil for the host of its address.
    public var name: String?
}

extension ServerConfiguration {
    /// Reads `tls` of a listener: a certificate and its key, and the verification of client certificates; nil for a
    /// plaintext listener.
    static func readListenerTLS(_ listener: ConfigurationReader) -> (TLSFiles?, ClientCertificateSection?) {
        guard let reader = listener.mapping("tls") else { return (nil, nil) }
        defer { reader.finish() }
        return (readFiles(reader), readClients(reader))
    }

    /// Reads `clients`; default: clients are not asked for a certificate.
    private static func readClients(_ tls: ConfigurationReader) -> ClientCertificateSection? {
        guard let reader = tls.mapping("clients") else { return nil }
        defer { reader.finish() }
        // Whether a handshake without a valid certificate fails; default: false.
        let isRequired = reader.bool("required") ?? false
        return readClientAuthorities(reader).map { ClientCertificateSection(files: $0, isRequired: isRequired) }
    }

    /// Reads `forwarded-certificates` of a listener: the verification of the client certificates that its trusted
    /// proxies forward (RFC 9440); default: they are ignored.
    static func readForwardedCertificates(
        _ listener: ConfigurationReader, _ trust: TrustedProxies
    ) -> ClientAuthorityFiles? {
        guard let reader = listener.mapping("forwarded-certificates") else { return nil }
        defer { reader.finish() }
        if trust.proxies.isEmpty {
            listener.report("forwarded-certificates", "applies only to listeners with trusted-proxies")
        } else if trust.source == .proxyProtocol {
            listener.report(
                "forwarded-certificates",
                "does not apply to client-address: proxy-protocol; the proxy passes the client's TLS on, so use "
                    + "tls.clients")
        }
        return readClientAuthorities(reader)
    }

    private static func readClientAuthorities(_ reader: ConfigurationReader) -> ClientAuthorityFiles? {
        // The trusted authorities in PEM. Each is trusted by itself, whether it is a root or not.
        let authorities = reader.required("ca").map(reader.absolute)
        // The revocation lists in PEM, a current one of each authority; default: revocation is not checked.
        let revocationLists = reader.textIfPresent("crl").map(reader.absolute)
        return authorities.map { ClientAuthorityFiles(authorities: $0, revocationLists: revocationLists) }
    }

    /// Reads `tls` of the backend, which is allowed for a `url` with https only.
    static func readBackendTLS(_ backend: ConfigurationReader, isSecure: Bool?) -> BackendTLSSection? {
        guard let reader = backend.mapping("tls") else {
            return isSecure == true ? BackendTLSSection() : nil
        }
        defer { reader.finish() }
        if isSecure == false { backend.report("tls", "applies only to an https url") }
        var section = BackendTLSSection()
        // The trusted authorities in PEM; default: those of the system.
        section.authority = reader.textIfPresent("ca").map(reader.absolute)
        // The name in the backend's certificate; default: the host of the url.
        section.name = reader.textIfPresent("server-name")
        if let name = section.name, !isName(name) {
            reader.report("server-name", "\"\(name)\" is not a name; use the name in the backend's certificate")
        }
        // The client certificate for a backend that requests one; default: none.
        if reader.has("certificate") || reader.has("key") { section.identity = readFiles(reader) }
        return section
    }

    /// Reads `tls` of a listener without client certificates; nil for a plaintext listener.
    static func readCertificate(_ listener: ConfigurationReader) -> TLSFiles? {
        guard let reader = listener.mapping("tls") else { return nil }
        defer { reader.finish() }
        return readFiles(reader)
    }

    private static func readFiles(_ reader: ConfigurationReader) -> TLSFiles? {
        // The certificate chain, the server's own certificate first.
        let certificate = reader.required("certificate").map(reader.absolute)
        // The private key. Secret: the permissions of the file are verified.
        let key = reader.required("key").map(reader.absolute)
        guard let certificate, let key else { return nil }
        return TLSFiles(certificate: certificate, key: key)
    }

    private static func isName(_ text: String) -> Bool {
        text.utf8.count <= 255
            && text.utf8.allSatisfy { byte in
                switch byte | 0x20 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"): true
                default: (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "-.".utf8.contains(byte)
                }
            }
    }
}

extension ConfigurationReader {
    /// Reads a text that must not be empty if it is present.
    fileprivate func textIfPresent(_ name: String) -> String? {
        guard has(name) else {
            _ = node(name)
            return nil
        }
        return required(name)
    }
}
