internal import GatewayCore
internal import GatewaySupport

/// Reads the lines of an export into an empty store. All of them are stored, or none.
package struct LedgerImport {
    private let ledger: StoredLedger
    private let texts: StoredSecureTexts?

    /// Creates an import into open stores.
    package init(_ ledger: StoredLedger, _ texts: StoredSecureTexts?) {
        self.ledger = ledger
        self.texts = texts
    }

    /// Stores the lines that `next` returns, each without its line feed, until it returns nil. Blocks; for commands,
    /// while no gateway runs.
    ///
    /// - Returns: The number of rows of all tables.
    /// - Throws: `LedgerUnavailable` with the number of the line if the export is incomplete, invalid, or of another key
    ///   of device handles, and if the store is not empty.
    package func run(_ next: @escaping () throws -> [UInt8]?) throws -> Int {
        var reader = LineReader(next: next, tables: TransferTable.ledger + [TransferTable.texts])
        guard case .head(TransferLine.version, let key) = try reader.read() else {
            throw LedgerUnavailable("the file is not an export of a ledger that this program can read")
        }
        guard key == (try ledger.digester.fingerprint().bytes) else {
            throw LedgerUnavailable(
                "the export has another key of device handles; copy the key file of its ledger beside this ledger first"
            )
        }
        var rows = 0
        var line = try reader.read()
        try texts?.database.read { try Self.requireEmpty([TransferTable.texts], $0) }
        if case .row(TransferTable.texts.name, _) = line {
            guard let texts else {
                throw LedgerUnavailable("the export has texts of secure sends, which are turned off")
            }
            try texts.database.write { transaction in
                while case .row(TransferTable.texts.name, let values) = line {
                    try Self.insert(values, into: TransferTable.texts, transaction)
                    rows += 1
                    line = try reader.read()
                }
            }
        }
        do {
            try ledger.database.write { transaction in
                try Self.requireEmpty(TransferTable.ledger, transaction)
                while true {
                    if case .end(let lines, let digest) = line {
                        guard lines == reader.number - 1 else {
                            throw LedgerUnavailable("the export has \(reader.number - 1) lines of \(lines)")
                        }
                        guard digest == reader.digestBeforeLast else {
                            throw LedgerUnavailable("the export was changed: its digest differs")
                        }
                        return
                    }
                    if case .row = line { rows += 1 }
                    try Self.store(line, reader.number, transaction)
                    line = try reader.read()
                }
            }
        } catch {
            // The store was empty before.
            _ = try? texts?.database.write { try $0.execute(sql: "DELETE FROM \(TransferTable.texts.name)") }
            throw error
        }
        return rows
    }

    /// Stores a line of the ledger.
    private static func store(_ line: TransferLine, _ number: Int64, _ transaction: any SQLTransaction) throws {
        switch line {
        case .property(let name, let value):
            guard TransferTable.properties.contains(name) else {
                throw LedgerUnavailable("line \(number) has an unknown property")
            }
            try transaction.execute(
                sql: """
                    INSERT INTO property (name, value) VALUES (?, ?)
                    ON CONFLICT (name) DO UPDATE SET value = excluded.value
                    """,
                arguments: [name, value])
        case .row(let name, let values):
            guard let table = TransferTable.ledger.first(where: { $0.name == name }) else {
                throw LedgerUnavailable("line \(number) is a text after the rows of the ledger")
            }
            try insert(values, into: table, transaction)
        case .head, .end: throw LedgerUnavailable("line \(number) is a second head")
        }
    }

    private static func requireEmpty(_ tables: [TransferTable], _ transaction: any SQLTransaction) throws {
        for table in tables where try transaction.firstRow(sql: "SELECT 1 FROM \(table.name) LIMIT 1") != nil {
            throw LedgerUnavailable("the store is not empty: it has rows of \(table.name)")
        }
    }

    private static func insert(
        _ values: [String: SQLValue], into table: TransferTable, _ transaction: any SQLTransaction
    ) throws {
        let places = Array(repeating: "?", count: table.columns.count).joined(separator: ", ")
        try transaction.execute(
            sql: "INSERT INTO \(table.name) (\(table.columnList)) VALUES (\(places))",
            arguments: SQLArguments(table.columns.map { values[$0.name] ?? .null }))
    }
}

/// Reads the lines of an export, and counts them.
private struct LineReader {
    let next: () throws -> [UInt8]?
    let tables: [TransferTable]
    /// The number of lines read.
    var number: Int64 = 0
    /// The digest of the lines before the last one that was read.
    var digestBeforeLast: [UInt8] = []
    private var digest = TransferDigest()

    init(next: @escaping () throws -> [UInt8]?, tables: [TransferTable]) {
        self.next = next
        self.tables = tables
    }

    mutating func read() throws -> TransferLine {
        guard let bytes = try next() else {
            throw LedgerUnavailable("the export is incomplete: it ends after line \(number)")
        }
        number += 1
        digestBeforeLast = digest.bytes
        try digest.add(bytes)
        do {
            return try TransferLine(bytes, tables: tables)
        } catch {
            throw LedgerUnavailable("line \(number) \(error.detail)")
        }
    }
}
