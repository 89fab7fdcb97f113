internal import Dispatch
internal import GatewayCore
internal import GatewaySupport
internal import PostgreSQLClient
internal import Synchronization

/// The claims of the gateways that use a store in PostgreSQL, in the table `claim`.
///
/// A row belongs to the gateway that its instance and fence number name, and is void if that gateway is not live. The
/// number of the claim within the gateway tells it from an earlier claim of the same key.
final class PostgreSQLClaims: SharedClaims {
    private struct Row: Hashable {
        let key: [UInt8]
        let claim: UInt64
    }

    private struct State {
        /// The keys of each claim that has rows.
        var keys: [UInt64: [[UInt8]]] = [:]
        /// When each of these claims certainly held its first key, in nanoseconds since boot.
        var since: [UInt64: Int64] = [:]
        /// Rows whose deletion has failed and is to be repeated.
        var undeleted: Set<Row> = []
        /// The largest number of a claim whose row was to be deleted and found no place in `undeleted`.
        var forgotten: UInt64 = 0
        var isScheduled = false

        mutating func remove(_ claim: UInt64) -> [[UInt8]]? {
            since[claim] = nil
            return keys.removeValue(forKey: claim)
        }
    }

    private let node: StoreNode
    private let groups: PostgreSQLStatementGroups
    private let state = Mutex(State())
    private let maximumUndeleted: Int

    /// Creates the claims of a gateway. Its connection is opened when it is needed.
    ///
    /// - Parameter maximumUndeleted: The maximum number of rows that are remembered because their deletion failed. If there
    ///   are more, all rows of earlier claims than the oldest one in use are deleted.
    init(_ settings: PostgreSQLSettings, node: StoreNode, maximumUndeleted: Int = 4096) {
        var connection = settings
        connection.applicationName = "notify-gateway claims"
        groups = PostgreSQLStatementGroups(
            connection, label: "claims", clocks: node.clocks, setUp: ClaimStatements.removeVoid)
        self.node = node
        self.maximumUndeleted = maximumUndeleted
    }

    /// The number of rows whose deletion is to be repeated. For tests.
    var undeleted: Int { state.withLock(\.undeleted.count) }

    /// Deletes the rows that are to be deleted if the server is there, and closes the connection. Blocks.
    func close() {
        retryDeletions()
        groups.close()
    }

    // MARK: SharedClaims

    func tryAcquire(_ key: KeyLocks.Key, for claim: UInt64) async throws(LedgerUnavailable) -> Bool {
        retryDeletions()
        let row = Row(key: key.bytes, claim: claim)
        // Known before the row exists, so that it is not taken for a forgotten one.
        let since = certainTime
        state.withLock { state in
            if state.keys[claim] == nil { state.since[claim] = since }
            state.keys[claim, default: []].append(row.key)
            state.undeleted.remove(row)
        }
        let result = await execute(ClaimStatements.acquire(row.key, owner(claim)), order: .acquisition(row.key))
        switch result {
        case .success(1...): return true
        case .success:
            forget(row)
            return false
        case .failure(let error) where PostgreSQLStatementGroups.isContention(error):
            forget(row)
            return false
        case .failure(let error):
            // It is unknown whether the row exists.
            forget(row)
            delete([row])
            throw LedgerUnavailable("claims of other gateways: \(PostgreSQLDatabase.text(for: error))")
        }
    }

    func release(_ key: KeyLocks.Key, of claim: UInt64) {
        let row = Row(key: key.bytes, claim: claim)
        if forget(row) { delete([row]) }
    }

    func releaseAll(_ claim: UInt64) {
        let keys = state.withLock { $0.remove(claim) } ?? []
        delete(keys.map { Row(key: $0, claim: claim) })
    }

    func isCertain(_ claim: UInt64) -> Bool {
        let (isHeld, since) = state.withLock { ($0.keys[claim] != nil, $0.since[claim]) }
        guard isHeld else { return true }
        guard let since else { return false }
        return Duration.nanoseconds(node.clocks.sinceBoot().nanoseconds - since) < Self.certainty
    }

    func check(_ claim: UInt64, _ tables: LedgerTables) throws {
        let since = certainTime
        try change(claim, tables) { ClaimStatements.keep($0, owner(claim)) }
        state.withLock { $0.since[claim] = since }
    }

    func remove(_ claim: UInt64, _ tables: LedgerTables) throws {
        try change(claim, tables) { ClaimStatements.delete($0, owner(claim)) }
    }

    func forget(_ claim: UInt64) { state.withLock { _ = $0.remove(claim) } }

    func renew(_ id: RegistrationID, _ renewal: RenewalBuffer.Renewal, limit: Int, for claim: UInt64) async -> Bool {
        guard let keys = state.withLock({ $0.keys[claim] }), keys.count == 2 else { return false }
        let statement = ClaimStatements.renew(id, renewal, limit: limit, keys, owner(claim))
        guard case .success(keys.count) = await execute(statement, order: .renewal(id)) else { return false }
        forget(claim)
        return true
    }

    // MARK: Rows

    /// How long a claim stays certain: less than the time that the right of the gateway lasts after `StoreNode.isValid`
    /// was true.
    private static let certainty = Duration.microseconds(StoreNode.duration) - StoreNode.reliance - .seconds(1)

    /// The present time if no other gateway can take this one for dead now; otherwise nil.
    private var certainTime: Int64? {
        let now = node.clocks.sinceBoot().nanoseconds
        return node.isValid ? now : nil
    }

    private func owner(_ claim: UInt64) -> ClaimStatements.Owner {
        ClaimStatements.Owner(instance: node.instance, fence: node.fenceNumber, claim: claim)
    }

    private func change(
        _ claim: UInt64, _ tables: LedgerTables, _ statement: ([[UInt8]]) -> ClaimStatements.Statement
    ) throws {
        guard let keys = state.withLock({ $0.keys[claim] }), !keys.isEmpty else { return }
        let change = statement(keys)
        guard try tables.execute(sql: change.sql, arguments: change.arguments) == keys.count else {
            throw LedgerUnavailable("another gateway has taken over the claim of the device or registration")
        }
    }

    /// Removes the row from its claim's keys. Returns whether it was one of them.
    @discardableResult
    private func forget(_ row: Row) -> Bool {
        state.withLock { state in
            guard let index = state.keys[row.claim]?.firstIndex(of: row.key) else { return false }
            state.keys[row.claim]?.remove(at: index)
            if state.keys[row.claim]?.isEmpty == true { _ = state.remove(row.claim) }
            return true
        }
    }

    private func execute(
        _ statement: ClaimStatements.Statement, order: ClaimStatements.Order
    ) async -> Result<Int, any Error> {
        await withCheckedContinuation { continuation in
            groups.add(
                .init(order: order.bytes, statement: statement.postgreSQL) { continuation.resume(returning: $0) })
        }
    }

    // MARK: Deletions

    /// The pause before failed deletions are repeated if no acquisition repeats them earlier.
    private static let retryPause = DispatchTimeInterval.seconds(1)

    private func delete(_ rows: [Row]) {
        for row in rows {
            let statement = ClaimStatements.delete([row.key], owner(row.claim))
            groups.add(
                .init(order: ClaimStatements.Order.deletion(row.key).bytes, statement: statement.postgreSQL) {
                    [self] result in
                    if case .failure = result { keepForRetry(row) }
                })
        }
    }

    private func keepForRetry(_ row: Row) {
        scheduleRetry { state in
            // The claim may have acquired the key again.
            if state.keys[row.claim]?.contains(row.key) == true { return }
            if state.undeleted.count < maximumUndeleted {
                state.undeleted.insert(row)
            } else {
                state.forgotten = max(state.forgotten, row.claim)
            }
        }
    }

    private func scheduleRetry(_ change: (inout State) -> Void) {
        let mustSchedule = state.withLock { state in
            change(&state)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        guard mustSchedule else { return }
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.retryPause) { [weak self] in
            self?.state.withLock { $0.isScheduled = false }
            self?.retryDeletions()
        }
    }

    /// Repeats the deletions that have failed, after those that run. Does not wait.
    private func retryDeletions() {
        let rows = state.withLock { state in
            defer { state.undeleted = [] }
            deleteForgotten(&state)
            return state.undeleted
        }
        delete(Array(rows))
    }

    /// Deletes the rows of earlier claims than the oldest one in use. Called with the state's lock, so that a claim that
    /// is acquired meanwhile gets its row later.
    private func deleteForgotten(_ state: inout State) {
        let forgotten = state.forgotten
        guard forgotten > 0 else { return }
        state.forgotten = 0
        let last = min(forgotten, (state.keys.keys.min() ?? .max) - 1)
        let statement = ClaimStatements.deleteAll(upTo: owner(last))
        groups.add(
            .init(order: ClaimStatements.Order.deletion([]).bytes, statement: statement.postgreSQL) { [self] result in
                if last == forgotten, case .success = result { return }
                scheduleRetry { $0.forgotten = max($0.forgotten, forgotten) }
            })
    }
}
