package import GatewayCore
internal import GatewaySupport

/// The agreement on account lists through the column `node.accounts`.
///
/// A gateway that is stopped, dead or has not published its lists yet does not count. Lists apply if all live gateways that
/// count have published the same, or if an operator has applied them. An operator's word is stored in the property
/// `accounts-by-word`: the digest of the lists that apply, and after it those of the lists that lost. Lists that lost do not
/// apply even if they are the only ones that are left. The word ends when all live gateways agree on lists that it does not
/// name, and with the next word.
extension StoreNodes: AccountAgreement {
    package func propose(_ lists: AccountListsDigest) async throws(LedgerUnavailable) -> AccountDecision {
        let own = try digester.digest(ofAccountLists: lists.bytes).bytes
        return try await ledger.write { [node] tables in
            try tables.execute(
                sql: "UPDATE node SET accounts = ? WHERE instance = ? AND fence = ?",
                arguments: [own, node.instance, node.fenceNumber])
            let decision = try tables.decision(on: own, of: node, endsWord: true)
            guard decision == .apply else { return decision }
            return try tables.acquire(.accountChanges, for: node) ? .apply : .wait
        }.get()
    }

    package func complete() async throws(LedgerUnavailable) {
        try await ledger.write { [node] tables in try tables.release(.accountChanges, of: node) }.get()
    }

    package func isReached() async throws(LedgerUnavailable) -> Bool {
        try await ledger.readAtLength { [node] tables in
            guard let own = try tables.accountLists(of: node) else { return false }
            return try tables.decision(on: own, of: node, endsWord: false) == .apply
        }
    }

    /// Takes the published lists of this gateway back, until it publishes those of another configuration. Until then they differ
    /// from those of every other gateway.
    package func withdrawLists() async throws(LedgerUnavailable) {
        let lists = RandomBytes.make(LedgerTables.digestLength)
        _ = try await ledger.write { [node] tables in
            try tables.execute(
                sql: "UPDATE node SET accounts = ? WHERE instance = ? AND accounts IS NOT NULL",
                arguments: [lists, node.instance])
        }.get()
    }

    package func applyOwn() async throws(LedgerUnavailable) -> AccountWord? {
        try await ledger.write { [node] tables in
            guard let own = try tables.accountLists(of: node) else { return nil }
            let others = try tables.otherAccountLists(than: own, of: node)
            let lost = try tables.accountWord().lost
            // Lists that apply anyway need no word, which would hold against the next ones.
            if others.isEmpty, !lost.contains(own) { return AccountWord(isNeeded: false, hosts: []) }
            try tables.storeWord(applied: own, lost: lost.union(others.map(\.lists)).subtracting([own]))
            return AccountWord(isNeeded: true, hosts: others.map(\.host))
        }.get()
    }
}

/// Statements on the account lists of nodes.
extension LedgerTables {
    /// The maximum number of lists that a word names as lost.
    private static let maximumLost = 64
    /// The length of a `KeyedDigest` in bytes.
    fileprivate static let digestLength = 16
    private static let word = "accounts-by-word"

    /// Returns what the node may do with its lists.
    ///
    /// - Parameter endsWord: Whether an agreement on new lists removes the word of an operator.
    fileprivate func decision(on own: [UInt8], of node: StoreNode, endsWord: Bool) throws -> AccountDecision {
        let (applied, lost) = try accountWord()
        if applied == own { return .apply }
        let others = try otherAccountLists(than: own, of: node)
        guard others.isEmpty else { return .differ(hosts: others.map(\.host)) }
        if lost.contains(own) { return .overruled }
        if endsWord, applied != nil {
            try execute(sql: "DELETE FROM property WHERE name = ?", arguments: [Self.word])
        }
        return .apply
    }

    /// Returns the digest that the node has published; nil if it has not.
    fileprivate func accountLists(of node: StoreNode) throws -> [UInt8]? {
        try firstRow(
            sql: "SELECT accounts FROM node WHERE instance = ? AND fence = ?",
            arguments: [node.instance, node.fenceNumber])?.optional("accounts")
    }

    /// Returns the hosts and digests of the other live nodes with other lists.
    fileprivate func otherAccountLists(
        than own: [UInt8], of node: StoreNode
    ) throws -> [(host: String, lists: [UInt8])] {
        try rows(
            sql: """
                SELECT host, accounts FROM node
                WHERE until > \(StoreNode.now) AND instance <> ? AND accounts <> ? ORDER BY host, instance
                """,
            arguments: [node.instance, own]
        ).map { (try $0.required("host"), try $0.required("accounts")) }
    }

    /// Returns the digest of the lists that an operator has applied, and those of the lists that lost.
    fileprivate func accountWord() throws -> (applied: [UInt8]?, lost: Set<[UInt8]>) {
        let value = try firstRow(sql: "SELECT value FROM property WHERE name = ?", arguments: [Self.word])?
            .required("value", as: [UInt8].self)
        let digests = stride(from: 0, to: value?.count ?? 0, by: Self.digestLength).map { start in
            Array(value?.dropFirst(start).prefix(Self.digestLength) ?? [])
        }
        return (digests.first, Set(digests.dropFirst()))
    }

    fileprivate func storeWord(applied: [UInt8], lost: Set<[UInt8]>) throws {
        try execute(
            sql: """
                INSERT INTO property (name, value) VALUES (?, ?)
                ON CONFLICT (name) DO UPDATE SET value = excluded.value
                """,
            arguments: [Self.word, applied + lost.prefix(Self.maximumLost).joined()])
    }
}
