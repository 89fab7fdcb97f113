internal import GatewaySupport
package import NIOCore
internal import NIOSSL
package import OutboundTLS
internal import Synchronization

/// The TLS configuration of connections to the backend. It verifies the backend's certificate against its name. Its
/// certificates can be replaced while connections are open.
///
/// All event loops use it. Each new connection acquires a lock; calls do not.
public final class ClientTLS: Sendable {
    /// The trusted certificate authorities and the client certificate of the gateway.
    public struct Settings: Sendable {
        /// The trusted authorities; nil selects those of the system.
        var authorities: [NIOSSLCertificate]?
        /// The client certificate that is sent if the backend requests one.
        var identity: TLSIdentity?

        /// Creates settings that trust the authorities of the system.
        public init(identity: TLSIdentity? = nil) { self.identity = identity }

        /// Creates settings that trust only the given authorities, in PEM. Throws `noAuthority` if there is none.
        public init(authorities: String, identity: TLSIdentity? = nil) throws(TLSConfigurationError) {
            self.identity = identity
            do {
                let authorities = try NIOSSLCertificate.fromPEMBytes(Array(authorities.utf8))
                // An empty list would reject every backend; the error is reported here instead.
                guard !authorities.isEmpty else { throw TLSConfigurationError.noAuthority }
                self.authorities = authorities
            } catch {
                throw .noAuthority
            }
        }
    }

    private let context: Mutex<NIOSSLContext>
    /// The name that the certificate must be valid for; nil selects the host of the address.
    private let name: String?

    /// Creates a configuration for TLS 1.2 and 1.3. Blocks briefly; do not call on an event loop.
    ///
    /// - Parameter name: The name that the backend's certificate must be valid for; nil selects the host of its
    ///   address.
    public init(_ settings: Settings, name: String? = nil) throws(TLSConfigurationError) {
        context = Mutex(try Self.context(settings))
        self.name = name
    }

    /// Replaces the certificates for all connections made from now on. Blocks briefly; do not call on an event loop.
    public func replace(_ settings: Settings) throws(TLSConfigurationError) {
        let new = try Self.context(settings)
        context.withLock { $0 = new }
    }

    /// Adds TLS to a new connection to the host. Nothing may be written before the returned handler reports success.
    ///
    /// - Parameter timeout: The maximum duration of the handshake.
    @discardableResult
    package func add(to channel: any Channel, host: String, timeout: TimeAmount) throws -> TLSHandshakeHandler {
        try TLSHandshakeHandler.add(
            to: channel, context.withLock { $0 }, ServerName(name ?? host), timeout: timeout)
    }

    private static func context(_ settings: Settings) throws(TLSConfigurationError) -> NIOSSLContext {
        var configuration = TLSConfiguration.outbound(trusting: settings.authorities)
        if let identity = settings.identity {
            configuration.certificateChain = identity.chain.map { .certificate($0) }
            configuration.privateKey = .privateKey(identity.key)
        }
        do { return try NIOSSLContext(configuration: configuration) } catch { throw .mismatch }
    }
}

extension ClientTLS: Hashable {
    /// Compares by identity, because the certificates of an instance can change.
    public static func == (left: ClientTLS, right: ClientTLS) -> Bool { left === right }

    /// Hashes the identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
