public import GatewayCore
internal import Synchronization

/// The sends that senders gave an idempotency key, for a day: what became of each, so that it is not sent twice.
///
/// Bounded: 10,000 a user and a million in all, the oldest go first. Shared by all loops; each critical section is some
/// look-ups long.
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
        /// Nothing: it is the caller's to make, and to say what became of it.
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

    fileprivate enum State {
        case inFlight
        case answered(Answer, CallResult)
        case unknown
    }

    private struct Entry {
        let message: KeyedDigest
        let number: UInt64
        let at: WallTime
        var state: State
    }

    private struct Table {
        var entries: [Scope: Entry] = [:]
        var ofUser: [UserName: Queue] = [:]
        var all = Queue()
        var number: UInt64 = 0
    }

    private let table = Mutex(Table())
    private let clocks: Clocks
    private let most: Int
    private let mostOfUser: Int

    /// A memory of nothing.
    public convenience init(clocks: Clocks) { self.init(clocks: clocks, most: Self.most, mostOfUser: Self.mostOfUser) }

    init(clocks: Clocks, most: Int, mostOfUser: Int) {
        self.clocks = clocks
        self.most = most
        self.mostOfUser = mostOfUser
    }

    /// How many sends are remembered.
    public var count: Int { table.withLock(\.entries.count) }

    /// Takes up what the journal has from before the start, oldest first.
    public func restore(_ sends: [KeyedSend]) {
        for send in sends {
            let scope = Scope(user: send.user, target: send.target, service: send.service, key: send.key)
            guard let state = State(send) else { continue }
            table.withLock { add(scope, send.message, at: send.at, state, to: &$0) }
        }
    }

    /// Forgets what a user has sent: whoever has the name from now on has sent nothing.
    public func forget(_ user: UserName) {
        table.withLock { table in
            while let item = table.ofUser[user]?.popFirst() {
                if table.entries[item.scope]?.number == item.number { table.entries[item.scope] = nil }
            }
            table.ofUser[user] = nil
        }
    }

    /// Looks a send up; one that is new is in flight from here on, until its claim is settled or dropped.
    func look(up scope: Scope, message: KeyedDigest) -> Finding {
        let now = clocks.wall()
        let isNew: Finding? = table.withLock { table in
            forgetOld(&table, now)
            if let entry = table.entries[scope] {
                guard entry.message == message else { return .another }
                switch entry.state {
                case .inFlight: return .inFlight
                case .answered(let answer, let result): return .answered(answer, result)
                case .unknown: return .unknown
                }
            }
            add(scope, message, at: now, .inFlight, to: &table)
            return nil
        }
        return isNew ?? .new(SendClaim(scope: scope, memory: self))
    }

    /// Says how a send ended that was in flight. One that surely did not leave may be made anew.
    fileprivate func settle(_ scope: Scope, _ end: SendEnd?) {
        table.withLock { table in
            // Pushed out by newer ones meanwhile.
            guard case .inFlight = table.entries[scope]?.state else { return }
            switch end {
            case nil, .notSent: table.entries[scope] = nil
            case .unknown: table.entries[scope]?.state = .unknown
            case .answered(let answer, let result): table.entries[scope]?.state = .answered(answer, result)
            }
        }
    }

    private func add(_ scope: Scope, _ message: KeyedDigest, at time: WallTime, _ state: State, to table: inout Table) {
        table.number += 1
        table.entries[scope] = Entry(message: message, number: table.number, at: time, state: state)
        table.all.append(scope, table.number)
        table.ofUser[scope.user, default: Queue()].append(scope, table.number)
        if table.ofUser[scope.user, default: Queue()].count > mostOfUser {
            drop(table.ofUser[scope.user]?.popFirst(), from: &table)
        }
        if table.all.count > most { drop(table.all.popFirst(), from: &table) }
    }

    private func forgetOld(_ table: inout Table, _ now: WallTime) {
        // A few at a time: nobody waits for a whole day to be forgotten.
        for _ in 0..<8 {
            guard let oldest = table.all.first else { return }
            if let entry = table.entries[oldest.scope], entry.number == oldest.number,
                entry.at.microseconds > now.microseconds - Self.period
            {
                return
            }
            drop(table.all.popFirst(), from: &table)
        }
    }

    /// Forgets a send, unless its place in the queue is of an older one with the same key.
    private func drop(_ item: Queue.Item?, from table: inout Table) {
        guard let item else { return }
        if table.entries[item.scope]?.number == item.number { table.entries[item.scope] = nil }
        // What the user's own queue begins with may have been forgotten by way of the other.
        while let first = table.ofUser[item.scope.user]?.first, table.entries[first.scope]?.number != first.number {
            _ = table.ofUser[item.scope.user]?.popFirst()
        }
        if table.ofUser[item.scope.user]?.count == 0 { table.ofUser[item.scope.user] = nil }
    }

    /// Sends in the order in which they came.
    private struct Queue {
        struct Item {
            let scope: Scope
            let number: UInt64
        }

        private var items: [Item] = []
        private var start = 0

        var count: Int { items.count - start }
        var first: Item? { start < items.count ? items[start] : nil }

        mutating func append(_ scope: Scope, _ number: UInt64) { items.append(Item(scope: scope, number: number)) }

        mutating func popFirst() -> Item? {
            guard let item = first else { return nil }
            start += 1
            if start > 64, start * 2 > items.count {
                items.removeFirst(start)
                start = 0
            }
            return item
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

/// A send in flight under its key. Dropped without having been settled, it was not made.
final class SendClaim: Sendable {
    private let scope: SendMemory.Scope
    private let memory: SendMemory

    fileprivate init(scope: SendMemory.Scope, memory: SendMemory) {
        self.scope = scope
        self.memory = memory
    }

    deinit { memory.settle(scope, nil) }

    /// Says what became of it.
    func settle(_ end: SendEnd) { memory.settle(scope, end) }
}
