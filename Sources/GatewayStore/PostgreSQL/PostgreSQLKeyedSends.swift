package import GatewayCore
package import GatewaySupport
internal import Synchronization

/// The sends with an idempotency key in a store in PostgreSQL, which all gateways of the store share.
///
/// Has connections of its own, so that a burst of sends does not delay registrations. Its transactions are
/// `READ COMMITTED`: each statement concerns one row, which the primary key protects.
///
/// A row in flight stays that of its call until the call's result is stored. If its node ends first, the next look-up marks
/// it as unknown. A result that cannot be written is kept in memory and written after the next send that is registered.
///
/// Safe to use from any thread.
package final class PostgreSQLKeyedSends: KeyedSendRegister {
    /// The bounds of what is stored. The oldest sends beyond them are removed.
    package struct Bounds: Sendable {
        /// The maximum number of sends of one user.
        package var perUser = 10_000
        /// The maximum number of sends in total.
        package var total = 1_000_000
        /// The maximum number of results that wait in memory for the server. Further ones are dropped, and their sends
        /// count as unknown.
        package var unwritten = 1000

        /// Creates the default bounds.
        package init() {}
    }

    private struct Unwritten {
        let call: KeyedSendTables.Call
        let result: KeyedSendResult
    }

    private struct State {
        var lastNumber: UInt64 = 0
        /// The calls whose result may still be written.
        var unfinished: Set<Int64> = []
        /// The results that could not be written.
        var unwritten: [Unwritten] = []
        /// The time until which a send may be one that only the journal of another gateway has; nil after a usual start.
        var awaitsJournalsUntil: MonotonicInstant?
    }

    private let node: StoreNode
    private let database: PostgreSQLDatabase
    private let reads: BatchedRead<KeyedSendTables>
    private let commits: GroupCommit<KeyedSendTables>
    private let bounds: Bounds
    private let state = Mutex(State())
    /// The time at the creation, by the wall clock and since boot.
    private let start: (wall: WallTime, sinceBoot: MonotonicInstant)

    /// The time of the creation and the time since. No change of the wall clock moves it.
    private var time: WallTime {
        start.wall.adding((node.clocks.sinceBoot().nanoseconds - start.sinceBoot.nanoseconds) / 1000)
    }

    /// The number of results that wait for the server.
    package var unwrittenCount: Int { state.withLock(\.unwritten.count) }

    /// Creates the register of an open store. The connections are opened when they are needed.
    package init(_ store: PostgreSQLStore, bounds: Bounds = Bounds()) {
        var settings = store.settings
        settings.readers = 1
        node = store.node
        start = (node.clocks.wall(), node.clocks.sinceBoot())
        database = PostgreSQLDatabase(
            settings, name: "keyed-sends", node: node, renewsNode: false, isolation: "READ COMMITTED")
        let health = LedgerHealth(database, proofLifetime: .seconds(1))
        reads = BatchedRead(database, health: health)
        commits = GroupCommit(database, health: health)
        self.bounds = bounds
    }

    /// Waits for running operations and closes the connections. Blocks.
    package func close() { database.close() }

    // MARK: Sends

    package func insert(_ send: KeyedSend) async throws(LedgerUnavailable) -> KeyedSendState {
        let number = state.withLock { state in
            state.lastNumber += 1
            state.unfinished.insert(Int64(state.lastNumber))
            return state.lastNumber
        }
        let call = self.call(send, number)
        let time = time
        let awaitsJournals = state.withLock { $0.awaitsJournalsUntil.map { $0 > node.clocks.sinceBoot() } ?? false }
        let inserted = await commits.write { [self] tables in
            if awaitsJournals, try tables.awaitsJournals(), try tables.stored(for: call) == nil {
                throw LedgerUnavailable(
                    "the store was restored, and the journals of other gateways are not compared with it yet")
            }
            return try tables.insert(call, at: time) ? KeyedSendState.inserted(number: number) : state(of: call, tables)
        }
        switch inserted {
        case .failure(let error):
            // The row may be stored nevertheless.
            keep(Unwritten(call: call, result: .notSent))
            throw error
        case .success(let found):
            if found != .inserted(number: number) { finish(call) }
            writeUnwritten()
            return found
        }
    }

    package func complete(_ send: KeyedSend, number: UInt64, _ result: KeyedSendResult) {
        write(Unwritten(call: call(send, number), result: result), isRepeated: false)
    }

    private func call(_ send: KeyedSend, _ number: UInt64) -> KeyedSendTables.Call {
        KeyedSendTables.Call(
            send: send, instance: node.instance, fence: node.fenceNumber, number: Int64(clamping: number))
    }

    /// Returns the state of the stored send with the key of the call's send. Marks it as unknown if no call will store its
    /// result.
    private func state(of call: KeyedSendTables.Call, _ tables: KeyedSendTables) throws -> KeyedSendState {
        guard let stored = try tables.stored(for: call) else {
            throw LedgerUnavailable("the stored send with the key was not found")
        }
        guard stored.message == call.send.message.bytes else { return .differentMessage }
        switch stored.state {
        case "completed":
            guard let result = stored.result.flatMap(CallResult.init), let response = stored.response else {
                return .unknown
            }
            return .completed(result, response: response)
        case "in-flight":
            let isInFlight =
                stored.isOwn ? state.withLock { $0.unfinished.contains(stored.number) } : stored.isLive
            if isInFlight { return .inFlight }
            try tables.markUnknown(call.send)
            return .unknown
        default:
            return .unknown
        }
    }

    /// Stores the sends of this gateway's journal that the store may lack after a restore. Blocks; called at startup.
    ///
    /// - Throws: `JournalUnavailable` or `LedgerUnavailable`.
    package func restore(journal directory: String, since: WallTime) throws {
        var part: [IdempotentSend] = []
        try JournalFile.readKeyedSends(in: directory, since: since) { send in
            part.append(send)
            guard part.count == Self.restoredAtOnce else { return }
            try restore(part)
            part = []
        }
        try restore(part)
    }

    /// Stores sends as ones whose result is unknown, in one transaction, so that none is made again. Blocks.
    package func restore(_ sends: [IdempotentSend]) throws(LedgerUnavailable) {
        // Those that certainly were not made may be made.
        let sends = sends.filter { !$0.isUnsent }
        if sends.isEmpty { return }
        try database.writeTables { (tables: KeyedSendTables) in
            for send in sends {
                let keyed = KeyedSend(
                    user: send.user, target: send.target, service: send.service, key: send.key, message: send.message)
                try tables.insertUnknown(call(keyed, 0), at: send.at)
            }
        }
    }

    /// Lets sends that are not stored wait until the journals of the other gateways have been compared with a restored store,
    /// or the time for that has passed. Called at startup.
    package func awaitJournals() {
        let end = node.clocks.sinceBoot().nanoseconds + LedgerTables.comparisonTime * 1000
        state.withLock { $0.awaitsJournalsUntil = MonotonicInstant(nanoseconds: end) }
    }

    /// The number of restored sends of one transaction.
    private static let restoredAtOnce = 1000

    // MARK: Results

    private func write(_ unwritten: Unwritten, isRepeated: Bool) {
        commits.add { [self] tables in
            try tables.complete(unwritten.call, unwritten.result)
            return { self.finish(unwritten.call) }
        } orElse: { [self] _ in
            if isRepeated { keep(unwritten) } else { write(unwritten, isRepeated: true) }
        }
    }

    /// Keeps a result until a send can be registered again.
    private func keep(_ unwritten: Unwritten) {
        state.withLock { state in
            if state.unwritten.count < bounds.unwritten {
                state.unwritten.append(unwritten)
            } else {
                state.unfinished.remove(unwritten.call.number)
            }
        }
    }

    /// Writes the results that could not be written. Called when the server has just responded.
    private func writeUnwritten() {
        let all = state.withLock { state in
            defer { state.unwritten = [] }
            return state.unwritten
        }
        for unwritten in all { write(unwritten, isRepeated: true) }
    }

    private func finish(_ call: KeyedSendTables.Call) {
        state.withLock { _ = $0.unfinished.remove(call.number) }
    }

    // MARK: Removal

    /// The maximum number of sends that one transaction removes, so that no send waits for the removal of many.
    private static let removedAtOnce = 500

    package func removeAll(of user: UserName) async throws(LedgerUnavailable) {
        _ = try await remove(until: .max, of: user.text)
    }

    /// Removes the sends that have expired and those beyond the bounds, the oldest first, in small steps. Several gateways
    /// may do so at the same time.
    ///
    /// - Returns: The number of removed sends.
    @discardableResult
    package func removeOld() async throws(LedgerUnavailable) -> Int {
        let bounds = bounds
        let time = time
        var count = try await remove(until: try await reads.read { try $0.expired(at: time) }.get())
        for user in try await reads.read({ try $0.users(beyond: bounds.perUser) }).get() {
            let excess = try await reads.read { try $0.excess(beyond: bounds.perUser, of: user) }.get()
            if let excess { count += try await remove(until: excess, of: user) }
        }
        if let excess = try await reads.read({ try $0.excess(beyond: bounds.total) }).get() {
            count += try await remove(until: excess)
        }
        writeUnwritten()
        return count
    }

    private func remove(until time: Int64, of user: String? = nil) async throws(LedgerUnavailable) -> Int {
        var count = 0
        while true {
            let removed = try await commits.write { tables in
                try tables.remove(until: time, of: user, limit: Self.removedAtOnce)
            }.get()
            count += removed
            if removed < Self.removedAtOnce { return count }
        }
    }
}
