internal import GatewayCore
public import GatewaySupport

/// The state of a key at a moment.
public enum TokenKeyStatus: String, Sendable, CaseIterable {
    /// The key signs new tokens and verifies tokens.
    case signs
    /// The key verifies tokens but does not sign.
    case verifies
    /// The key's `not-before` is in the future.
    case pending
    /// The key's `not-after` has passed.
    case expired
}

extension TokenKeysFile {
    /// Returns the key that signs at the given time: the first in the file that is valid and allowed to issue tokens.
    public func signingKey(at now: WallTime) -> TokenKey? { keys.signing(at: now) }

    /// Returns the state of each key, in the order of the file.
    public func statuses(at now: WallTime) -> [(key: TokenKey, status: TokenKeyStatus)] {
        let signing = signingKey(at: now)?.id
        return keys.map { key in
            if key.isValid(at: now) { return (key, key.id == signing ? .signs : .verifies) }
            return (key, key.notBefore.map { now < $0 } == true ? .pending : .expired)
        }
    }
}

extension Sequence<TokenKey> {
    /// Returns the key that signs: the first that is valid and allowed to issue tokens.
    func signing(at now: WallTime) -> TokenKey? { first { $0.issues && $0.isValid(at: now) } }
}
