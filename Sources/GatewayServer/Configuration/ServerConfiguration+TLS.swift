internal import GatewayCore

/// A certificate and its key, in files.
public struct TLSFiles: Sendable, Hashable {
    /// PEM: the certificate that the key is for, then those that lead from it to an authority.
    public var certificate: String
    /// PEM, not encrypted, in a file closed to others.
    public var key: String
}

/// How a backend behind TLS is verified, and who the gateway says that it is.
public struct BackendTLSSection: Sendable, Hashable {
    /// The file of the authorities that are trusted; nil for those of the system.
    public var authority: String?
    /// The gateway's own certificate, where the backend asks for one.
    public var identity: TLSFiles?
    /// The name that the backend's certificate must be for; nil for the host of its address.
    public var name: String?
}

extension ServerConfiguration {
    /// `tls` of a listener: a certificate and its key; nil for a listener in the clear.
    static func readListenerTLS(_ listener: ConfigurationReader) -> TLSFiles? {
        guard let reader = listener.mapping("tls") else { return nil }
        defer { reader.finish() }
        return readFiles(reader)
    }

    /// `tls` of the backend, which counts for a `url` of https alone.
    static func readBackendTLS(_ backend: ConfigurationReader, isSecure: Bool?) -> BackendTLSSection? {
        guard let reader = backend.mapping("tls") else {
            return isSecure == true ? BackendTLSSection() : nil
        }
        defer { reader.finish() }
        if isSecure == false { backend.report("tls", "is for a url of https alone") }
        var section = BackendTLSSection()
        // The authorities, in PEM, of which one has signed the backend's certificate; those of the system unless given.
        section.authority = reader.textIfPresent("ca").map(reader.absolute)
        // The name in the backend's certificate; the host of the url unless given.
        section.name = reader.textIfPresent("server-name")
        if let name = section.name, !isName(name) {
            reader.report("server-name", "\"\(name)\" is not a name; write that of the backend's certificate")
        }
        // What the gateway answers with where the backend asks for a certificate; none unless given.
        if reader.has("certificate") || reader.has("key") { section.identity = readFiles(reader) }
        return section
    }

    private static func readFiles(_ reader: ConfigurationReader) -> TLSFiles? {
        // The chain of certificates, the own one first.
        let certificate = reader.required("certificate").map(reader.absolute)
        // Its private key: secret, so the file is judged as all such files are.
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
    /// Text that must not be empty where it is there.
    fileprivate func textIfPresent(_ name: String) -> String? {
        guard has(name) else {
            _ = node(name)
            return nil
        }
        return required(name)
    }
}
