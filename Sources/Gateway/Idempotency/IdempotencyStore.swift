public import GatewayCore
public import GatewaySupport
internal import Synchronization

/// The sends of the last 24 hours that have an idempotency key, with their results, so that no send is made twice.
///
/// A send is stored when it is admitted, after the limits, so that rejected sends occupy no entry. Bounded: 10,000
/// sends for each user and one million in total (``IdempotencyTable`` describes the eviction). The hours are those since
/// boot, so a wall clock that jumps lets no send go out twice. Shared by all event loops; each critical section makes a few
/// table look-ups.
public final class IdempotencyStore: Sendable {
    /// The time that a send is kept, in nanoseconds.
    static let period: Int64 = 24 * 3600 * 1_000_000_000
    /// The maximum number of sends of one user.
    public static let maximumPerUser = 10_000
    /// The maximum number of sends in total.
    public static let maximumCount = 1_000_000

    /// An idempotency key within its scope: the same key from another user, or for another recipient, audience or push
    /// service, identifies a different send.
    struct Scope: OwnedKey {
        let user: UserName
        let target: String
        let service: PushService
        let key: KeyedDigest

        var owner: UserName { user }
    }

    /// The result of a look-up.
    enum Lookup {
        /// No such send is stored. The caller may make it, and calls `insert()` on the claim once it is admitted.
        case new(IdempotencyClaim)
        /// Another call is making the same send.
        case inFlight
        /// The key was used before with a different message.
        case differentMessage
        /// The send completed with this response.
        case completed(Response, CallResult)
        /// The send may have been made.
        case unknown
    }

    /// The state of a stored send.
    enum State {
        /// A call is making the send. Its result leads to `completed` or `unknown`; a send that was not made is
        /// removed.
        case inFlight
        /// The send completed with this response. Expires after `period`.
        case completed(Response, CallResult)
        /// The send may have been made. Expires after `period`.
        case unknown
    }

    /// The maximum number of sends that wait for the end of the restoration. They occupy places of calls in flight, of which
    /// most are for others.
    static let maximumWaiting = 512

    private let table: Mutex<IdempotencyTable>
    private let clocks: Clocks
    /// Whether the sends of before the start are in the store, or why they are not.
    private let restoration = AsyncPromise<Result<Void, JournalUnavailable>>()
    private let waiting = Atomic(0)
    /// The users whose sends were removed before the end of the restoration, which does not bring them back.
    private let removed = Mutex<Set<UserName>>([])

    /// Creates an empty store.
    ///
    /// - Parameter isRestored: False if earlier sends are still to be restored. Then sends wait for ``endRestoration(_:)``.
    public convenience init(clocks: Clocks, isRestored: Bool = true) {
        self.init(clocks: clocks, capacity: Self.maximumCount, maximumPerUser: Self.maximumPerUser, isRestored)
    }

    init(clocks: Clocks, capacity: Int, maximumPerUser: Int, _ isRestored: Bool = true) {
        self.clocks = clocks
        table = Mutex(IdempotencyTable(capacity: capacity, maximumPerUser: maximumPerUser))
        if isRestored { restoration.fulfill(.success(())) }
    }

    /// The number of stored sends. For tests of the bound.
    public var count: Int { table.withLock(\.count) }

    /// Restores a send that the journal contains. Called in the order of the journal.
    ///
    /// - Parameter time: The time by which its age counts. A send that is later has no age.
    public func restore(_ send: IdempotentSend, at time: WallTime) {
        let age = max(0, time.microseconds - send.at.microseconds)
        guard age < Self.period / 1000, let state = State(send) else { return }
        let scope = Scope(user: send.user, target: send.target, service: send.service, key: send.key)
        let expires = MonotonicInstant(nanoseconds: clocks.sinceBoot().nanoseconds + Self.period - age * 1000)
        removed.withLock { removed in
            if removed.contains(send.user) { return }
            table.withLock { table in
                // A send without an outcome follows all others, also a later one with its key.
                if let known = table.send(for: scope), known.expires > expires { return }
                _ = table.add(scope, message: send.message, until: expires, state: state)
            }
        }
    }

    /// Lets the store decide on sends, or reject all of them because not all earlier ones are known. Only the first call has an
    /// effect.
    public func endRestoration(_ result: Result<Void, JournalUnavailable>) {
        restoration.fulfill(result)
        removed.withLock { $0 = [] }
    }

    /// Rejects the sends that wait, because the gateway stops.
    public func cancelRestoration() { endRestoration(.failure(JournalUnavailable("the gateway stops"))) }

    /// Whether the store can decide on sends without a wait.
    var isRestored: Bool { if case .success = restoration.value { true } else { false } }

    /// Waits until the store can decide on sends.
    ///
    /// - Throws: If it never will, or if too many sends wait.
    func awaitRestoration() async throws(JournalUnavailable) {
        defer { waiting.subtract(1, ordering: .relaxed) }
        guard waiting.add(1, ordering: .relaxed).newValue <= Self.maximumWaiting || restoration.value != nil else {
            throw JournalUnavailable("too many sends wait until the last day is read", isFull: true)
        }
        try await restoration.get().get()
    }

    /// Removes the sends of a user, so that a later user with the same name starts without any. A later start may bring them
    /// back.
    public func removeAll(of user: UserName) {
        removed.withLock { removed in
            if restoration.value == nil { removed.insert(user) }
            table.withLock { $0.removeAll(of: user) }
        }
    }

    /// Looks up a send. Stores nothing.
    func lookUp(_ scope: Scope, message: KeyedDigest) -> Lookup {
        let now = clocks.sinceBoot()
        let send = table.withLock { table in
            Self.removeExpired(from: &table, now)
            return Self.send(for: scope, in: table, now)
        }
        guard let send else { return .new(IdempotencyClaim(scope: scope, message: message, store: self)) }
        guard send.message == message else { return .differentMessage }
        switch send.state {
        case .inFlight: return .inFlight
        case .completed(let response, let result): return .completed(response, result)
        case .unknown: return .unknown
        }
    }

    /// Stores an admitted send as in flight.
    ///
    /// - Returns: The number of its entry; nil if another call has stored the same send since the look-up.
    func insert(_ scope: Scope, _ message: KeyedDigest) -> UInt64? {
        let now = clocks.sinceBoot()
        return table.withLock { table in
            guard Self.send(for: scope, in: table, now) == nil else { return nil }
            let expires = MonotonicInstant(nanoseconds: now.nanoseconds + Self.period)
            return table.add(scope, message: message, until: expires, state: .inFlight)
        }
    }

    /// Sets the result of a send in flight. A send that was not made is removed.
    func complete(_ scope: Scope, _ number: UInt64, _ outcome: IdempotentResult) {
        table.withLock { table in
            switch outcome {
            case .notSent: table.remove(scope, number: number)
            case .unknown: table.update(scope, number: number, to: .unknown)
            case .completed(let response, let result):
                table.update(scope, number: number, to: .completed(response, result))
            }
        }
    }

    /// Returns the send with this scope, unless it has expired: an older one may wait for its removal before it.
    private static func send(
        for scope: Scope, in table: IdempotencyTable, _ now: MonotonicInstant
    ) -> IdempotencyTable.Send? {
        table.send(for: scope).flatMap { $0.expires > now ? $0 : nil }
    }

    private static func removeExpired(from table: inout IdempotencyTable, _ now: MonotonicInstant) {
        // At most eight at a time, so that no call waits for the removal of a whole day's sends.
        for _ in 0..<8 {
            guard let oldest = table.oldest, oldest.value.expires <= now else { return }
            table.remove(oldest.key)
        }
    }
}

extension IdempotencyStore.State {
    /// Creates the state of a send from the journal; nil for one that may be sent again.
    fileprivate init?(_ send: IdempotentSend) {
        switch IdempotentResult(send) {
        case .notSent: return nil
        case .unknown: self = .unknown
        case .completed(let response, let result): self = .completed(response, result)
        }
    }
}
