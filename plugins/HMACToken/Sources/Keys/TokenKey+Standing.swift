public import GatewayCore

/// What a key is good for at a moment.
public enum TokenKeyStanding: String, Sendable, CaseIterable {
    /// Tokens are issued with it, and taken.
    case signs
    /// Its tokens are taken.
    case verifies
    /// It has not begun yet.
    case ahead
    /// It is no key any more.
    case ended
}

extension TokenKeysFile {
    /// The key that signs at that moment: the first in the file that is valid and may.
    public func signingKey(at now: WallTime) -> TokenKey? { keys.signing(at: now) }

    /// What each key is good for, in the order of the file.
    public func standings(at now: WallTime) -> [(key: TokenKey, standing: TokenKeyStanding)] {
        let signing = signingKey(at: now)?.id
        return keys.map { key in
            if key.isValid(at: now) { return (key, key.id == signing ? .signs : .verifies) }
            return (key, key.notBefore.map { now < $0 } == true ? .ahead : .ended)
        }
    }
}

extension Sequence<TokenKey> {
    /// The key that signs: the first that is valid and may.
    func signing(at now: WallTime) -> TokenKey? { first { $0.issues && $0.isValid(at: now) } }
}
