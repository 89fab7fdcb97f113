internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The tokens that a service accepted when they were presented last. The limits by address do not apply to them, so that
/// invalid tokens from the same address do not affect their owners.
///
/// Holds digests of tokens only. The result of a token is never taken from here. Bounded: a full table forgets the token
/// that was added first. Shared by all event loops.
final class KnownTokens: Sendable {
    struct Key: OwnedKey {
        typealias Owner = SoleOwner
        fileprivate let digest: SHA256.Digest
    }

    private let tokens: Mutex<BoundedMap<Key, Void>>

    init(capacity: Int = 16_384) { tokens = Mutex(BoundedMap(capacity: capacity)) }

    /// Returns the key of a token; nil for another credential, or if libcrypto failed.
    static func key(of credential: Credential) -> Key? {
        guard case .bearer(let token) = credential else { return nil }
        return token.withUnsafeBytes { SHA256.Digest(of: $0) }.map(Key.init)
    }

    /// Returns whether the token was accepted when it was presented last.
    func contains(_ key: Key?) -> Bool {
        guard let key else { return false }
        return tokens.withLock { $0.refresh(key) != nil }
    }

    /// Remembers an accepted token, and forgets a rejected one.
    func record(_ outcome: AuthenticationOutcome, of key: Key?) {
        guard let key else { return }
        switch outcome {
        case .accepted: tokens.withLock { _ = $0.insert((), for: key) }
        case .rejected, .notMine: tokens.withLock { $0.remove(key) }
        case .unavailable: break
        }
    }
}
