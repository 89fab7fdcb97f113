internal import GatewayCore
public import GatewaySupport
internal import NIOCore
package import NIOSSL
internal import Synchronization

/// The TLS configuration of a listener. Its identity can be replaced while connections are open.
///
/// Several listeners can share it, on any thread. Each new connection acquires a lock; calls do not.
public final class ServerTLS: Sendable {
    /// The cipher suites of TLS 1.2 with forward secrecy and authenticated encryption. HTTP/2 forbids none of them
    /// (RFC 9113, appendix A). TLS 1.3 needs no selection.
    private static let suites: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]

    /// The verification of client certificates on a listener.
    public struct Clients: Sendable {
        /// The verification.
        public var verifier: ClientCertificateVerifier
        /// Whether a handshake without a valid certificate fails.
        public var isRequired: Bool

        /// Creates the verification of a listener.
        public init(_ verifier: ClientCertificateVerifier, isRequired: Bool = false) {
            self.verifier = verifier
            self.isRequired = isRequired
        }
    }

    private struct Contexts {
        /// The context of listeners with HTTP/2 and HTTP/1.1.
        let withHTTP2: NIOSSLContext
        /// The context of listeners with HTTP/1.1 only.
        let http1Only: NIOSSLContext
        /// The identity that both contexts were created from.
        let identity: TLSIdentity
    }

    private let contexts: Mutex<Contexts>
    /// The verification of client certificates; nil if clients are not asked for one.
    public let clients: Clients?

    /// Creates a configuration for TLS 1.2 and 1.3. Blocks briefly; do not call on an event loop.
    public init(_ identity: TLSIdentity, clients: Clients? = nil) throws(TLSConfigurationError) {
        self.clients = clients
        contexts = Mutex(try Self.contexts(of: identity, clients))
    }

    /// Replaces the identity for all handshakes from now on; open connections are not affected. The list of authorities
    /// that clients are sent becomes that of the current ones. Blocks briefly.
    ///
    /// - Returns: Whether the certificate chain differs from the previous one.
    @discardableResult
    public func replace(_ identity: TLSIdentity) throws(TLSConfigurationError) -> Bool {
        let new = try Self.contexts(of: identity, clients)
        return contexts.withLock { contexts in
            defer { contexts = new }
            return contexts.identity.chain != identity.chain
        }
    }

    /// Updates the list of authorities that clients are sent, after the verifier of client certificates has replaced
    /// them. Blocks briefly.
    public func updateClientAuthorities() throws(TLSConfigurationError) {
        let identity = contexts.withLock(\.identity)
        try replace(identity)
    }

    /// Returns the protocols that the listener offers through ALPN (RFC 7301), the preferred one first.
    static func protocols(supportsHTTP2: Bool) -> [String] { supportsHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"] }

    /// The earliest expiry time of the certificates in the current chain.
    public var certificateExpiry: WallTime { contexts.withLock { $0.identity.end } }

    /// Creates the TLS handler for a new connection, from the current identity.
    ///
    /// - Parameters:
    ///   - supportsHTTP2: Whether HTTP/2 is offered through ALPN (RFC 7301) in addition to HTTP/1.1.
    ///   - certificate: The client certificate of the handshake; nil if the client is not asked for one.
    func handler(supportsHTTP2: Bool, verifying certificate: ClientCertificateHandshake?) -> NIOSSLServerHandler {
        let contexts = contexts.withLock { $0 }
        let context = supportsHTTP2 ? contexts.withHTTP2 : contexts.http1Only
        guard let certificate else { return NIOSSLServerHandler(context: context) }
        return NIOSSLServerHandler(
            context: context,
            customVerificationCallback: { chain, promise in promise.succeed(certificate.verify(chain)) })
    }

    /// Creates the TLS handler for a new connection of a listener with HTTP/1.1 only and without client certificates.
    package func http1Handler() -> NIOSSLServerHandler { handler(supportsHTTP2: false, verifying: nil) }

    private static func contexts(
        of identity: TLSIdentity, _ clients: Clients?
    ) throws(TLSConfigurationError) -> Contexts {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: identity.chain.map { .certificate($0) }, privateKey: .privateKey(identity.key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = suites
        configuration.renegotiationSupport = .none
        // The console's listener waits for the `close_notify` of browsers. The library keeps a connection for that time,
        // even after its socket is closed.
        configuration.shutdownTimeout = .seconds(1)
        configuration.applicationProtocols = protocols(supportsHTTP2: true)
        if let clients {
            // The chain itself is verified by `ClientCertificateHandshake`.
            configuration.certificateVerification = clients.isRequired ? .noHostnameVerification : .optionalVerification
            configuration.sendCANameList = true
            do {
                configuration.trustRoots = .certificates(
                    try NIOSSLCertificate.fromPEMBytes(Array(clients.verifier.authorities.pem.utf8)))
            } catch { throw .noAuthority }
        }
        var http1Only = configuration
        http1Only.applicationProtocols = protocols(supportsHTTP2: false)
        do {
            return Contexts(
                withHTTP2: try NIOSSLContext(configuration: configuration),
                http1Only: try NIOSSLContext(configuration: http1Only), identity: identity)
        } catch {
            // `TLSIdentity.init` has already checked the certificates and the key in every other respect.
            throw .mismatch
        }
    }
}
