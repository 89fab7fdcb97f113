internal import GatewayCore
internal import GatewaySupport
internal import NIOSSL

/// The client certificate of one TLS handshake.
///
/// Loop-bound. The TLS library checks that the client possesses the key; this type replaces its check of the chain.
final class ClientCertificateHandshake {
    private let verifier: ClientCertificateVerifier
    private let isRequired: Bool
    private let clocks: Clocks
    private var certificate: PresentedCertificate?

    init(_ clients: ServerTLS.Clients, clocks: Clocks) {
        verifier = clients.verifier
        isRequired = clients.isRequired
        self.clocks = clocks
    }

    /// Verifies the chain that the client presents. The handshake fails only if the listener requires a valid one:
    /// otherwise a call may still present another credential, and one that does not is rejected with the reason.
    func verify(_ presented: [NIOSSLCertificate]) -> NIOSSLVerificationResult {
        guard let chain = try? presented.prefix(ClientAuthorities.maximumPresented + 1).map({ try $0.toDERBytes() })
        else { return .failed }
        let certificate = present(chain, isResumed: false)
        self.certificate = certificate
        return isRequired && !certificate.result(now: clocks.wall()).isVerified ? .failed : .certificateVerified
    }

    /// Returns the certificate when the handshake is complete; nil if the client has none.
    ///
    /// - Throws: `Missing` if the listener requires a valid certificate and there is none. That happens only when a
    ///   session is resumed, because the library does not verify its certificate.
    func complete(_ handler: NIOSSLServerHandler) throws -> PresentedCertificate? {
        if certificate == nil, let leaf = handler.peerCertificate {
            certificate = present([try leaf.toDERBytes()], isResumed: true)
        }
        if isRequired, certificate?.result(now: clocks.wall()).isVerified != true { throw Missing() }
        return certificate
    }

    /// No valid certificate where one is required.
    struct Missing: Error {}

    private func present(_ chain: [[UInt8]], isResumed: Bool) -> PresentedCertificate {
        PresentedCertificate(
            chain, isResumed: isResumed, isRequired: isRequired, verifier: verifier, now: clocks.wall())
    }
}

@available(*, unavailable)
extension ClientCertificateHandshake: Sendable {}
