package import NIOSSL
internal import Synchronization

/// TLS towards the backend, whose certificate is verified against its name. May be given other certificates while it serves.
///
/// Used by all event loops. A lock is taken once a connection, never once a call.
public final class ClientTLS: Sendable {
    /// Whom the backend's certificate has to be signed by, and who the gateway says that it is.
    public struct Settings: Sendable {
        /// The authorities that are trusted; nil is those of the system.
        var authorities: [NIOSSLCertificate]?
        /// What the gateway answers with where the backend asks for a certificate.
        var identity: TLSIdentity?

        /// The authorities of the system, and the gateway's own identity where the backend asks for one.
        public init(identity: TLSIdentity? = nil) { self.identity = identity }

        /// Authorities in PEM, and nobody else.
        public init(authorities: String, identity: TLSIdentity? = nil) throws(TLSConfigurationError) {
            self.identity = identity
            do {
                let authorities = try NIOSSLCertificate.fromPEMBytes(Array(authorities.utf8))
                // Without any, everybody would be refused: better said at once.
                guard !authorities.isEmpty else { throw TLSConfigurationError.noAuthority }
                self.authorities = authorities
            } catch {
                throw .noAuthority
            }
        }
    }

    private let context: Mutex<NIOSSLContext>
    /// The name that the certificate must be for, where it is not that of the address.
    private let name: String?

    /// TLS 1.2 and 1.3. Blocks for a moment: not for event loops.
    ///
    /// - Parameter name: the name that the backend's certificate must be for, unless it is the host of its address.
    public init(_ settings: Settings, name: String? = nil) throws(TLSConfigurationError) {
        context = Mutex(try Self.context(settings))
        self.name = name
    }

    /// Goes by other certificates from the next connection on. Blocks for a moment.
    public func replace(_ settings: Settings) throws(TLSConfigurationError) {
        let new = try Self.context(settings)
        context.withLock { $0 = new }
    }

    /// The handler of one connection to a host. A host that is an address is verified by the addresses of the certificate.
    package func handler(host: String) throws -> NIOSSLClientHandler {
        let name = name ?? host
        // An address has no place in SNI (RFC 6066, section 3), and is then taken from the connection.
        let isAddress = name.contains(":") || name.allSatisfy { $0.isNumber || $0 == "." }
        return try NIOSSLClientHandler(
            context: context.withLock { $0 }, serverHostname: isAddress ? nil : name)
    }

    private static func context(_ settings: Settings) throws(TLSConfigurationError) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.certificateVerification = .fullVerification
        configuration.renegotiationSupport = .none
        if let authorities = settings.authorities { configuration.trustRoots = .certificates(authorities) }
        if let identity = settings.identity {
            configuration.certificateChain = identity.chain.map { .certificate($0) }
            configuration.privateKey = .privateKey(identity.key)
        }
        do { return try NIOSSLContext(configuration: configuration) } catch { throw .mismatch }
    }
}

extension ClientTLS: Hashable {
    /// The same one; what it goes by may change.
    public static func == (left: ClientTLS, right: ClientTLS) -> Bool { left === right }

    /// By identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
