internal import GatewayCore
internal import GatewaySupport

/// A hash table of sends with an idempotency key. Linked lists order its entries by age: one of all sends, and one for
/// each user.
///
/// A value, which `IdempotencyStore` protects with a lock. Only sends in the table count toward its limits. Every
/// operation takes constant time, except `removeAll(of:)`.
struct IdempotencyTable {
    /// A send in the table.
    struct Entry {
        /// The scope of the key.
        let scope: IdempotencyStore.Scope
        /// The digest of the message.
        let message: KeyedDigest
        /// The time of admission.
        let at: WallTime
        /// A number that is unique in the history of the table and increases with each entry.
        let number: UInt64
        /// The state of the send.
        var state: IdempotencyStore.State
    }

    private struct Slot {
        var entry: Entry
        var inAll = Links()
        var inUser = Links()
    }

    /// The neighbours of a slot in one list.
    private struct Links {
        var older: Int?
        var newer: Int?
    }

    /// A doubly linked list of slots, ordered by age, with its length.
    private struct Order {
        var oldest: Int?
        var newest: Int?
        var count = 0
    }

    private let most: Int
    private let maximumPerUser: Int
    private var places: [IdempotencyStore.Scope: Int] = [:]
    private var slots: [Slot?] = []
    private var free: [Int] = []
    private var all = Order()
    private var users: [UserName: Order] = [:]
    private var lastNumber: UInt64 = 0

    /// Creates an empty table for at most `most` sends in total and `maximumPerUser` sends of one user.
    init(most: Int, maximumPerUser: Int) {
        self.most = max(1, most)
        self.maximumPerUser = max(1, maximumPerUser)
    }

    /// The number of sends in the table.
    var count: Int { all.count }

    /// The send that was admitted first.
    var oldest: Entry? { all.oldest.flatMap { slots[$0]?.entry } }

    /// Returns the send with this scope, if any.
    func entry(for scope: IdempotencyStore.Scope) -> Entry? { places[scope].flatMap { slots[$0]?.entry } }

    /// Adds a send, replaces an older one with the same scope, and evicts another one if necessary.
    ///
    /// A user with `maximumPerUser` sends loses the oldest of them. In a full table, a user with at least the average
    /// number of sends loses its oldest one; for any other user the oldest send in the table is evicted.
    ///
    /// - Returns: The entry's number.
    mutating func add(
        _ scope: IdempotencyStore.Scope, message: KeyedDigest, at time: WallTime, state: IdempotencyStore.State
    ) -> UInt64 {
        remove(scope)
        evict(for: scope.user)
        lastNumber += 1
        let slot = Slot(entry: Entry(scope: scope, message: message, at: time, number: lastNumber, state: state))
        let place = free.popLast() ?? slots.count
        if place == slots.count { slots.append(slot) } else { slots[place] = slot }
        places[scope] = place
        Self.append(place, to: &all, in: &slots, by: \.inAll)
        Self.append(place, to: &users[scope.user, default: Order()], in: &slots, by: \.inUser)
        return lastNumber
    }

    /// Changes the state of a send, unless another send has replaced it.
    mutating func update(_ scope: IdempotencyStore.Scope, number: UInt64, to state: IdempotencyStore.State) {
        guard let place = places[scope], slots[place]?.entry.number == number else { return }
        slots[place]?.entry.state = state
    }

    /// Removes a send. If `number` is given, does nothing if another send has replaced it.
    mutating func remove(_ scope: IdempotencyStore.Scope, number: UInt64? = nil) {
        guard let place = places[scope], let entry = slots[place]?.entry, number == nil || entry.number == number
        else { return }
        remove(at: place)
    }

    /// Removes all sends of a user.
    mutating func removeAll(of user: UserName) {
        while let place = users[user]?.oldest { remove(at: place) }
    }

    private mutating func evict(for user: UserName) {
        let userCount = users[user]?.count ?? 0
        if userCount >= maximumPerUser {
            if let place = users[user]?.oldest { remove(at: place) }
        } else if all.count >= most {
            let hasEqualShare = userCount > 0 && userCount >= all.count / users.count
            if let place = hasEqualShare ? users[user]?.oldest : all.oldest { remove(at: place) }
        }
    }

    private mutating func remove(at place: Int) {
        guard let slot = slots[place] else { return }
        Self.unlink(place, from: &all, in: &slots, by: \.inAll)
        let user = slot.entry.scope.user
        if users[user]?.count == 1 {
            users[user] = nil
        } else {
            Self.unlink(place, from: &users[user, default: Order()], in: &slots, by: \.inUser)
        }
        places[slot.entry.scope] = nil
        slots[place] = nil
        free.append(place)
    }

    private static func append(
        _ place: Int, to order: inout Order, in slots: inout [Slot?], by links: WritableKeyPath<Slot, Links>
    ) {
        slots[place]?[keyPath: links] = Links(older: order.newest, newer: nil)
        if let newest = order.newest { slots[newest]?[keyPath: links].newer = place } else { order.oldest = place }
        order.newest = place
        order.count += 1
    }

    private static func unlink(
        _ place: Int, from order: inout Order, in slots: inout [Slot?], by links: WritableKeyPath<Slot, Links>
    ) {
        guard let neighbours = slots[place]?[keyPath: links] else { return }
        if let older = neighbours.older {
            slots[older]?[keyPath: links].newer = neighbours.newer
        } else {
            order.oldest = neighbours.newer
        }
        if let newer = neighbours.newer {
            slots[newer]?[keyPath: links].older = neighbours.older
        } else {
            order.newest = neighbours.older
        }
        order.count -= 1
    }
}
