internal import GatewayCore
internal import GatewaySupport

/// A table of sends with an idempotency key. It is bounded in total and for each user.
///
/// A value type, which `IdempotencyStore` protects with a lock. A removed or evicted send no longer counts toward the
/// bounds. Every operation takes constant time, except `removeAll(of:)`.
struct IdempotencyTable {
    /// A send in the table.
    struct Send {
        /// The digest of the message.
        let message: KeyedDigest
        /// The time since boot at which the send is forgotten. No change of the wall clock moves it.
        let expires: MonotonicInstant
        /// The state of the send.
        var state: IdempotencyStore.State
    }

    private let maximumPerUser: Int
    private var sends: BoundedMap<IdempotencyStore.Scope, Send>

    /// Creates an empty table for at most `capacity` sends in total and `maximumPerUser` sends of one user.
    init(capacity: Int, maximumPerUser: Int) {
        self.maximumPerUser = max(1, maximumPerUser)
        sends = BoundedMap(capacity: capacity)
    }

    /// The number of sends in the table.
    var count: Int { sends.count }

    /// The send that was admitted first.
    var oldest: BoundedMap<IdempotencyStore.Scope, Send>.Entry? { sends.oldest }

    /// Returns the send with this scope, if any.
    func send(for scope: IdempotencyStore.Scope) -> Send? { sends[scope] }

    /// Adds a send, replaces an older one with the same scope, and evicts another one if necessary.
    ///
    /// A user with `maximumPerUser` sends loses the oldest of them. In a full table, a user with at least the average
    /// number of sends loses its oldest one; for any other user the oldest send in the table is evicted.
    ///
    /// - Returns: The entry's number, at least 1 and unique in the history of the table.
    mutating func add(
        _ scope: IdempotencyStore.Scope, message: KeyedDigest, until expires: MonotonicInstant,
        state: IdempotencyStore.State
    ) -> UInt64 {
        if sends[scope] == nil, mustEvict(of: scope.user), let evicted = sends.oldest(of: scope.user) {
            sends.remove(evicted.key)
        }
        return sends.insert(Send(message: message, expires: expires, state: state), for: scope)
    }

    /// Changes the state of a send, unless another send has replaced it.
    mutating func update(_ scope: IdempotencyStore.Scope, number: UInt64, to state: IdempotencyStore.State) {
        guard sends.entry(for: scope)?.serial == number else { return }
        sends.update(scope) { $0.state = state }
    }

    /// Removes a send. If `number` is given, does nothing if another send has replaced it.
    mutating func remove(_ scope: IdempotencyStore.Scope, number: UInt64? = nil) {
        guard number == nil || sends.entry(for: scope)?.serial == number else { return }
        sends.remove(scope)
    }

    /// Removes all sends of a user.
    mutating func removeAll(of user: UserName) { sends.removeAll(of: user) }

    /// Returns whether a new send of the user evicts one of the user's own sends.
    private func mustEvict(of user: UserName) -> Bool {
        let userCount = sends.count(of: user)
        if userCount >= maximumPerUser { return true }
        return sends.count >= sends.capacity && userCount > 0 && userCount >= sends.count / sends.ownerCount
    }
}
