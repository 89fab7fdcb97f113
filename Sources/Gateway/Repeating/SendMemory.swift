public import GatewayCore
internal import Synchronization

/// The sends that senders gave an idempotency key, for a day: what became of each, so that it is not sent twice.
///
/// A send is stored when it is admitted, after the limits, so that a refused send takes no place. Bounded: 10,000 sends a user and a
/// million in all (``IdempotencyTable`` says which one makes room). Shared by all loops; each critical section is some look-ups long.
public final class SendMemory: Sendable {
    /// How long a send is remembered, in microseconds.
    static let period: Int64 = 24 * 3600 * 1_000_000
    /// How many sends of one user are remembered.
    public static let mostOfUser = 10_000
    /// How many sends are remembered in all.
    public static let most = 1_000_000

    /// What a key stands for: the same key to another recipient is another send.
    struct Scope: Hashable {
        let user: UserName
        let target: String
        let service: PushService
        let key: KeyedDigest
    }

    /// What is known of a send.
    enum Finding {
        /// Nothing: the caller may make the send, and enters the claim once the send is admitted.
        case new(SendClaim)
        /// Somebody is making it.
        case inFlight
        /// The key stands for another message.
        case another
        /// It was made, and answered so.
        case answered(Answer, CallResult)
        /// It may have been made.
        case unknown
    }

    /// What became of a stored send.
    enum State {
        case inFlight
        case answered(Answer, CallResult)
        case unknown
    }

    private let table: Mutex<IdempotencyTable>
    private let clocks: Clocks

    /// A memory of nothing.
    public convenience init(clocks: Clocks) { self.init(clocks: clocks, most: Self.most, mostOfUser: Self.mostOfUser) }

    init(clocks: Clocks, most: Int, mostOfUser: Int) {
        self.clocks = clocks
        table = Mutex(IdempotencyTable(most: most, mostOfUser: mostOfUser))
    }

    /// How many sends are remembered.
    public var count: Int { table.withLock(\.count) }

    /// Takes up what the journal has from before the start, oldest first.
    public func restore(_ sends: [KeyedSend]) {
        for send in sends {
            let scope = Scope(user: send.user, target: send.target, service: send.service, key: send.key)
            guard let state = State(send) else { continue }
            table.withLock { _ = $0.add(scope, message: send.message, at: send.at, state: state) }
        }
    }

    /// Forgets what a user has sent: whoever has the name from now on has sent nothing.
    public func forget(_ user: UserName) { table.withLock { $0.removeAll(of: user) } }

    /// Returns what is known of a send. Stores nothing.
    func look(up scope: Scope, message: KeyedDigest) -> Finding {
        let now = clocks.wall()
        let entry = table.withLock { table in
            Self.removeExpired(from: &table, now)
            return table.entry(for: scope)
        }
        guard let entry else { return .new(SendClaim(scope: scope, message: message, memory: self)) }
        guard entry.message == message else { return .another }
        switch entry.state {
        case .inFlight: return .inFlight
        case .answered(let answer, let result): return .answered(answer, result)
        case .unknown: return .unknown
        }
    }

    /// Stores an admitted send as one in flight.
    ///
    /// - Returns: the number of its entry; nil if another call stored the same send after this one had looked it up.
    fileprivate func store(_ scope: Scope, _ message: KeyedDigest) -> UInt64? {
        let now = clocks.wall()
        return table.withLock { table in
            table.entry(for: scope) == nil ? table.add(scope, message: message, at: now, state: .inFlight) : nil
        }
    }

    /// Says how a send ended that was in flight. One that surely did not leave may be made anew.
    fileprivate func settle(_ scope: Scope, _ number: UInt64, _ end: SendEnd?) {
        table.withLock { table in
            switch end {
            case nil, .notSent: table.remove(scope, number: number)
            case .unknown: table.update(scope, number: number, to: .unknown)
            case .answered(let answer, let result):
                table.update(scope, number: number, to: .answered(answer, result))
            }
        }
    }

    private static func removeExpired(from table: inout IdempotencyTable, _ now: WallTime) {
        // A few at a time: nobody waits for a whole day to be forgotten.
        for _ in 0..<8 {
            guard let oldest = table.oldest, oldest.at.microseconds <= now.microseconds - period else { return }
            table.remove(oldest.scope)
        }
    }
}

extension SendMemory.State {
    /// How a send stands that the journal has; nil for one that may be made anew.
    fileprivate init?(_ send: KeyedSend) {
        switch SendEnd(send) {
        case .notSent: return nil
        case .unknown: self = .unknown
        case .answered(let answer, let result): self = .answered(answer, result)
        }
    }
}

/// The right to make a send under its key. Takes a place in the memory from `enter()` on; dropped without having been settled, it
/// gives the place back, since the send was not made.
final class SendClaim: Sendable {
    private static let outside: UInt64 = 0

    private let scope: SendMemory.Scope
    private let message: KeyedDigest
    private let memory: SendMemory
    /// The number of the entry, which is 1 or more; 0 while there is none, and after it was settled.
    private let number = Atomic(outside)

    fileprivate init(scope: SendMemory.Scope, message: KeyedDigest, memory: SendMemory) {
        self.scope = scope
        self.message = message
        self.memory = memory
    }

    deinit {
        let entry = number.load(ordering: .relaxed)
        if entry != Self.outside { memory.settle(scope, entry, nil) }
    }

    /// Stores the send, which has been admitted. To be called once, before the send is recorded.
    ///
    /// - Throws: `idempotency-in-progress` if another call was admitted with the same key meanwhile.
    func enter() throws(Refusal) {
        guard let entry = memory.store(scope, message) else { throw .sendInFlight }
        number.store(entry, ordering: .relaxed)
    }

    /// Says what became of the send. What is said first holds.
    func settle(_ end: SendEnd) {
        let entry = number.exchange(Self.outside, ordering: .relaxed)
        if entry != Self.outside { memory.settle(scope, entry, end) }
    }
}

extension Refusal {
    /// Another call makes the send with the same key at the moment.
    static var sendInFlight: Refusal {
        Refusal(.idempotencyInProgress, "the send with this key is under way", extra: .retryAfter(seconds: 1))
    }
}
