internal import GatewayCore
internal import GatewaySupport
internal import Synchronization

/// The ids of the logout tokens that were accepted, until the tokens expire. A full table forgets the oldest id, so a
/// token could be repeated after 10,000 further logouts within five minutes.
final class SeenLogouts: Sendable {
    static let capacity = 10_000

    private struct Key: OwnedKey {
        typealias Owner = SoleOwner
        let id: String
    }

    private let ids = Mutex(BoundedMap<Key, WallTime>(capacity: capacity))

    /// Remembers the id of a token. Returns false if the token was accepted before.
    func insert(_ logout: LogoutRules.Logout, at now: WallTime) -> Bool {
        ids.withLock { ids in
            let key = Key(id: logout.id)
            if let end = ids[key], now < end { return false }
            ids.insert(logout.ends, for: key)
            return true
        }
    }
}
