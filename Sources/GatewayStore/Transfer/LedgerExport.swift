internal import GatewayCore
internal import GatewaySupport

/// Writes a ledger as lines of JSON, so that a store of another kind can take it over.
package struct LedgerExport {
    private let ledger: StoredLedger
    private let texts: StoredSecureTexts?

    /// Creates an export of open stores.
    package init(_ ledger: StoredLedger, _ texts: StoredSecureTexts?) {
        self.ledger = ledger
        self.texts = texts
    }

    /// Passes on the lines of the export, each with its line feed, from one state of the ledger and one of the texts.
    /// Blocks; for commands, while no gateway runs.
    ///
    /// - Returns: The number of rows of all tables.
    package func run(_ write: ([UInt8]) throws -> Void) throws -> Int {
        var lines: Int64 = 0
        var rows = 0
        var digest = TransferDigest()
        func add(_ line: TransferLine) throws {
            let bytes = line.bytes
            try digest.add(bytes.dropLast())
            try write(bytes)
            lines += 1
        }
        try add(.head(version: TransferLine.version, key: ledger.digester.fingerprint().bytes))
        try texts?.database.read { transaction in
            rows += try Self.rows(of: TransferTable.texts, transaction, add)
        }
        try ledger.database.read { transaction in
            for name in TransferTable.properties {
                let row = try transaction.firstRow(sql: "SELECT value FROM property WHERE name = ?", arguments: [name])
                if let row { try add(.property(name: name, value: try row.required("value", as: [UInt8].self))) }
            }
            for table in TransferTable.ledger { rows += try Self.rows(of: table, transaction, add) }
        }
        try write(TransferLine.end(lines: lines, digest: digest.bytes).bytes)
        return rows
    }

    private static func rows(
        of table: TransferTable, _ transaction: any SQLTransaction, _ add: (TransferLine) throws -> Void
    ) throws -> Int {
        var count = 0
        let order = table.order.map { "\"\($0)\"" }.joined(separator: ", ")
        try transaction.forEachRow(
            sql: "SELECT \(table.columnList) FROM \(table.name) ORDER BY \(order)", arguments: []
        ) { row in
            var values: [String: SQLValue] = [:]
            for (column, value) in zip(table.columns, row.values) { values[column.name] = value }
            try add(.row(table: table.name, values: values))
            count += 1
        }
        return count
    }
}
