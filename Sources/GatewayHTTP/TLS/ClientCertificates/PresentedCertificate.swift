internal import GatewayCore
internal import GatewaySupport

/// A certificate chain that a client has presented, with the result of its verification.
///
/// Loop-bound. The result is kept until the authorities are replaced or a part of it expires.
final class PresentedCertificate {
    /// The time after which a certificate that was not accepted is verified again.
    static let retryTime: Int64 = 30_000_000

    /// Whether the listener serves no call without a valid certificate.
    let isRequired: Bool
    private let chain: [[UInt8]]
    private let isResumed: Bool
    private let verifier: ClientCertificateVerifier
    private var generation: UInt64
    private var outcome: ClientCertificateResult
    private var end: WallTime

    /// Verifies a chain.
    ///
    /// - Parameters:
    ///   - chain: The DER encodings, the client's certificate first.
    ///   - isResumed: Whether only the client's certificate is known, because the TLS session was resumed.
    init(
        _ chain: [[UInt8]], isResumed: Bool = false, isRequired: Bool = false, verifier: ClientCertificateVerifier,
        now: WallTime
    ) {
        self.chain = chain
        self.isResumed = isResumed
        self.isRequired = isRequired
        self.verifier = verifier
        generation = verifier.generation
        (outcome, end) = Self.verify(chain, isResumed, verifier, now)
    }

    /// Returns the result of the verification, which is repeated if it may have changed.
    func result(now: WallTime) -> ClientCertificateResult {
        // Read before the verification: authorities that are replaced meanwhile cause another one.
        let current = verifier.generation
        if current != generation || now >= end {
            generation = current
            (outcome, end) = Self.verify(chain, isResumed, verifier, now)
        }
        return outcome
    }

    private static func verify(
        _ chain: [[UInt8]], _ isResumed: Bool, _ verifier: ClientCertificateVerifier, _ now: WallTime
    ) -> (ClientCertificateResult, WallTime) {
        let verification = verifier.verify(chain, isResumed: isResumed, now: now)
        return (verification.result, verification.result.isVerified ? verification.end : now.adding(retryTime))
    }
}

@available(*, unavailable)
extension PresentedCertificate: Sendable {}
