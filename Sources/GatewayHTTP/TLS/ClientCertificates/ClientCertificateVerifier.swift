internal import GatewayCore
public import GatewaySupport
internal import Synchronization

/// The verification of client certificates by authorities that a reload can replace.
///
/// Several listeners can share it, on any thread. A verification acquires a lock to copy references; a look at the
/// generation does not.
public final class ClientCertificateVerifier: Sendable {
    /// The maximum number of intermediate certificates that are remembered.
    static let maximumRemembered = 16

    private struct State {
        var authorities: ClientAuthorities
        var remembered: [[UInt8]] = []
    }

    private let state: Mutex<State>
    private let number = Atomic<UInt64>(0)

    /// Creates a verifier with its first authorities.
    public init(_ authorities: ClientAuthorities) { state = Mutex(State(authorities: authorities)) }

    /// The current authorities.
    var authorities: ClientAuthorities { state.withLock(\.authorities) }

    /// The number of the current authorities. It increases when a reload replaces them.
    var generation: UInt64 { number.load(ordering: .acquiring) }

    /// The time from which a revocation list is out of date; nil without revocation lists.
    public var revocationEnd: WallTime? { authorities.revocationEnd }

    /// Replaces the authorities and revocation lists. Each certificate that was verified with the previous ones is
    /// verified again before its next use.
    ///
    /// - Returns: Whether the files differ.
    @discardableResult
    public func replace(_ authorities: ClientAuthorities) -> Bool {
        let isChanged = state.withLock { state in
            guard state.authorities.fingerprint != authorities.fingerprint || authorities.fingerprint == nil else {
                return false
            }
            state = State(authorities: authorities)
            return true
        }
        if isChanged { number.add(1, ordering: .releasing) }
        return isChanged
    }

    /// Verifies a certificate chain with the current authorities.
    ///
    /// - Parameters:
    ///   - chain: The DER encodings, the client's certificate first.
    ///   - isResumed: Whether the chain lacks the intermediate certificates, because the TLS library reports only the
    ///     client's certificate for a resumed session. The remembered ones then take their place: those of accepted
    ///     chains, so that no client can fill the memory without a certificate of an authority.
    func verify(_ chain: [[UInt8]], isResumed: Bool, now: WallTime) -> ClientAuthorities.Verification {
        let (authorities, remembered) = state.withLock { ($0.authorities, $0.remembered) }
        let verification = authorities.verify(chain, with: isResumed ? remembered : [], now: now)
        let new = verification.intermediates.filter { !remembered.contains($0) }
        if !new.isEmpty {
            state.withLock { state in
                state.remembered.append(contentsOf: new.filter { !state.remembered.contains($0) })
                state.remembered.removeFirst(max(0, state.remembered.count - Self.maximumRemembered))
            }
        }
        return verification
    }
}

extension ClientCertificateResult {
    /// Whether the certificate is valid.
    var isVerified: Bool { if case .verified = self { true } else { false } }
}
