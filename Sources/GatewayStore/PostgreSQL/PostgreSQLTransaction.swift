internal import PostgreSQLClient

/// An open transaction on a connection of a store in PostgreSQL.
struct PostgreSQLTransaction: SQLTransaction {
    let connection: PostgreSQLConnection
    let node: String?

    @discardableResult
    func execute(sql: String, arguments: SQLArguments) throws -> Int {
        try connection.execute(sql, arguments.values.map(PostgreSQLValue.init))
    }

    func forEachRow(sql: String, arguments: SQLArguments, _ body: (SQLRow) throws -> Void) throws {
        try connection.forEachRow(sql, arguments.values.map(PostgreSQLValue.init)) { columns, values in
            try body(SQLRow(columns: columns, values: values.map(SQLValue.init)))
        }
    }

    /// Wakes those that listen to the channel, once the transaction is committed.
    func notify(_ channel: String) throws {
        _ = try firstRow(sql: "SELECT pg_notify(?, '')::text AS sent", arguments: [channel])
    }

    /// Executes statements without arguments, separated by semicolons.
    func script(_ sql: String) throws { try connection.simple(sql) }

    /// Waits for the running changes of all gateways, and keeps new ones waiting at their check of the node until this
    /// transaction ends. Called before its first look at the data. Throws if the wait takes half a second.
    ///
    /// Serializable transactions conflict if they merely read and write on the same pages, as those of two busy gateways
    /// always do in a small ledger, so a second attempt beside others would often fail again.
    func waitForOthers() throws {
        try script("SET LOCAL lock_timeout = 500; LOCK TABLE node IN EXCLUSIVE MODE; SET LOCAL lock_timeout = 0")
    }
}

extension PostgreSQLValue {
    /// Converts an argument of a statement.
    init(_ value: SQLValue) {
        switch value {
        case .null: self = .null
        case .integer(let value): self = .integer(value)
        case .text(let value): self = .text(value)
        case .bytes(let value): self = .bytes(value)
        }
    }
}

extension SQLValue {
    fileprivate init(_ value: PostgreSQLValue) {
        switch value {
        case .null: self = .null
        case .integer(let value): self = .integer(value)
        case .text(let value): self = .text(value)
        case .bytes(let value): self = .bytes(value)
        }
    }
}
