public import GatewayCore
internal import NIOSSL
internal import Synchronization

/// The TLS of a listener: who it says that it is. May be given another identity while it serves.
///
/// Used by any number of listeners, from any thread. A lock is taken once a connection, never once a call.
public final class ServerTLS: Sendable {
    /// The suites of TLS 1.2: forward secrecy and authenticated encryption, none that HTTP/2 forbids (RFC 9113, appendix A).
    /// Those of TLS 1.3 are all good.
    private static let suites: [NIOTLSCipher] = [
        .TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, .TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        .TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, .TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        .TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, .TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ]

    private struct Contexts {
        /// For listeners that speak HTTP/2 as well.
        let both: NIOSSLContext
        /// For the others.
        let first: NIOSSLContext
        /// What the contexts were made of.
        let identity: TLSIdentity
    }

    private let contexts: Mutex<Contexts>

    /// TLS 1.2 and 1.3 by the identity. Blocks for a moment: not for event loops.
    public init(_ identity: TLSIdentity) throws(TLSConfigurationError) {
        contexts = Mutex(try Self.contexts(of: identity))
    }

    /// Goes by another identity from the next handshake on; connections that are there stay as they are. Blocks for a moment.
    ///
    /// - Returns: Whether it has other certificates than before.
    @discardableResult
    public func replace(_ identity: TLSIdentity) throws(TLSConfigurationError) -> Bool {
        let new = try Self.contexts(of: identity)
        return contexts.withLock { contexts in
            defer { contexts = new }
            return contexts.identity.chain != identity.chain
        }
    }

    /// The protocols that are offered by ALPN (RFC 7301), the preferred one first.
    static func protocols(speaksHTTP2: Bool) -> [String] { speaksHTTP2 ? ["h2", "http/1.1"] : ["http/1.1"] }

    /// When the certificate that it goes by ends, or the first one of its chain that does.
    public var certificateEnd: WallTime { contexts.withLock { $0.identity.end } }

    /// The handler of one connection. `speaksHTTP2` is whether HTTP/2 is offered by ALPN (RFC 7301) beside HTTP/1.1.
    func handler(speaksHTTP2: Bool) -> NIOSSLServerHandler {
        let contexts = contexts.withLock { $0 }
        return NIOSSLServerHandler(context: speaksHTTP2 ? contexts.both : contexts.first)
    }

    private static func contexts(of identity: TLSIdentity) throws(TLSConfigurationError) -> Contexts {
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: identity.chain.map { .certificate($0) }, privateKey: .privateKey(identity.key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuiteValues = suites
        configuration.renegotiationSupport = .none
        configuration.applicationProtocols = protocols(speaksHTTP2: true)
        var first = configuration
        first.applicationProtocols = protocols(speaksHTTP2: false)
        do {
            return Contexts(
                both: try NIOSSLContext(configuration: configuration), first: try NIOSSLContext(configuration: first),
                identity: identity)
        } catch {
            // All but whether the two belong together was found out when the identity was made.
            throw .mismatch
        }
    }
}
