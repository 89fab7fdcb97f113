internal import NIOCore
package import NIOSSL

extension TLSConfiguration {
    /// The configuration of connections that the gateway opens: TLS 1.2 and 1.3, with verification of the certificate's chain.
    ///
    /// The name is verified by ``TLSHandshakeHandler`` or ``ServerName/verifyPeer(of:)``. NIOSSL's own verification is off,
    /// because it also accepts a certificate for the IP address that the host name resolved to, or a common name.
    ///
    /// - Parameter authorities: The trusted authorities; nil for those of the system.
    package static func outbound(trusting authorities: [NIOSSLCertificate]?) -> TLSConfiguration {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.certificateVerification = .noHostnameVerification
        configuration.renegotiationSupport = .none
        // A server that does not end its side holds no memory for longer.
        configuration.shutdownTimeout = .seconds(1)
        if let authorities { configuration.trustRoots = .certificates(authorities) }
        return configuration
    }
}
