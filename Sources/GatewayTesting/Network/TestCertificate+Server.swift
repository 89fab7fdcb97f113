public import NIOSSL

extension TestCertificate {
    /// Returns the TLS settings of a server that presents the certificate and asks for none.
    public func serverConfiguration() throws -> TLSConfiguration {
        .makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(Array(certificate.utf8)).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)))
    }

    /// Returns the context of a server that presents the certificate and asks for none.
    public func serverContext() throws -> NIOSSLContext { try NIOSSLContext(configuration: serverConfiguration()) }
}
