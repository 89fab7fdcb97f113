package import GatewayCore
internal import GatewaySupport

/// The gateways that share a store in PostgreSQL: their list, the tasks that one of them has, and the agreement on their
/// account lists.
///
/// Safe to use from any thread.
package final class StoreNodes: Sendable {
    let ledger: StoredLedger
    let node: StoreNode
    let digester: HandleDigester

    /// Creates the view of one of the gateways, which has opened the store and its ledger.
    package convenience init(_ store: PostgreSQLStore, ledger: StoredLedger) {
        self.init(ledger, node: store.node, digester: store.digester)
    }

    /// Creates the view of a node that uses the ledger.
    init(_ ledger: StoredLedger, node: StoreNode, digester: HandleDigester) {
        self.ledger = ledger
        self.node = node
        self.digester = digester
    }

    /// The time for which a gateway that does not run stays in the list, in microseconds: 7 days.
    static let memory: Int64 = 7 * 86_400_000_000
    /// The maximum length of the list.
    private static let maximumListed = 1000

    /// Returns the gateways of the last seven days, ordered by host.
    package func list() async throws(LedgerUnavailable) -> [ListedNode] {
        let (own, now) = (node.instance, StoreNode.now)
        return try await ledger.readAtLength { tables in
            let rows = try tables.rows(
                sql: """
                    SELECT instance, host, program, fence, until, applied, accounts,
                        CASE WHEN until > \(now) THEN 1 ELSE 0 END AS is_live, \(now) - until AS ended,
                        (SELECT COALESCE(max(number), 0) FROM change) AS last
                    FROM node WHERE GREATEST(until, started) > \(now) - ? ORDER BY host, instance LIMIT ?
                    """,
                arguments: [Self.memory, Self.maximumListed])
            let lists = try rows.first { try $0.required("instance", as: String.self) == own }?
                .optional("accounts", as: [UInt8].self)
            return try rows.map { try ListedNode($0, own: own, accounts: lists) }
        }
    }
}

/// A gateway in the list of those that share a store.
package struct ListedNode: Sendable, Hashable {
    /// Whether the gateway runs.
    package enum State: String, Sendable, Hashable {
        /// It is the one that was asked.
        case this
        case live
        /// It has stopped, or has given no sign of life.
        case gone
    }

    /// The account lists of a gateway, compared with those of the one that was asked.
    package enum AccountLists: String, Sendable, Hashable {
        case agree
        case differ
        /// One of the two has not published its lists, or does not run.
        case unknown
    }

    /// The name of the machine.
    package let host: String
    /// The random name of the installation.
    package let instance: String
    /// The version of the program.
    package let version: String
    /// The number of the gateway's start, which grows.
    package let fence: Int64
    package let state: State
    /// The time since the last sign of life in seconds; nil for a gateway that was stopped.
    package let secondsUnseen: Int64?
    /// The number of changes of sessions that the gateway has not applied yet; nil unless it runs.
    package let lag: Int64?
    package let accounts: AccountLists

    fileprivate init(_ row: SQLRow, own: String, accounts ownLists: [UInt8]?) throws {
        host = try row.required("host")
        instance = try row.required("instance")
        version = try row.required("program")
        fence = try row.required("fence")
        let isLive = try row.required("is_live", as: Bool.self)
        state = instance == own ? .this : isLive ? .live : .gone
        let sign = try row.required("ended", as: Int64.self).addingSaturating(StoreNode.duration)
        secondsUnseen = try row.required("until", as: Int64.self) == 0 ? nil : max(0, sign / 1_000_000)
        let last = try row.required("last", as: Int64.self)
        lag = isLive ? max(0, last.subtractingSaturating(try row.required("applied", as: Int64.self))) : nil
        let lists = try row.optional("accounts", as: [UInt8].self)
        if let lists, let ownLists, isLive {
            accounts = lists == ownLists ? .agree : .differ
        } else {
            accounts = .unknown
        }
    }
}
