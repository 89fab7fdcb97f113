internal import CLibpq

extension PostgreSQLConnection {
    /// Runs one statement and returns the number of rows that it changed, or returned.
    ///
    /// - Throws: ``PostgreSQLError``.
    @discardableResult
    package func execute(_ sql: String, _ arguments: [PostgreSQLValue] = []) throws -> Int {
        try run(sql, arguments) { _ in }
    }

    /// Runs one statement and calls the closure for each row, which is not kept. The deadline includes the closure's time.
    ///
    /// The closure must not use the connection. If it throws, the remaining rows are received and dropped.
    ///
    /// - Throws: ``PostgreSQLError``, and what the closure throws.
    package func forEachRow(
        _ sql: String, _ arguments: [PostgreSQLValue] = [],
        _ body: (_ columns: [String], _ values: [PostgreSQLValue]) throws -> Void
    ) throws {
        var reader = RowReader()
        _ = try run(sql, arguments) { result in try reader.read(result, body) }
    }

    /// Runs a script without arguments and without results: several statements separated by `;`, or one that cannot be
    /// prepared. Outside of a transaction block, the script is one transaction.
    ///
    /// - Throws: ``PostgreSQLError``, the first one.
    package func simple(_ sql: String) throws {
        guard !sql.utf8.contains(0) else { throw PostgreSQLError(.other, "a statement contains a NUL character") }
        try perform { deadline in
            guard PQsendQuery(libpq.pointer, sql) == 1 else { throw libpq.lost() }
            PQsetSingleRowMode(libpq.pointer)
            try libpq.flush(until: deadline)
            _ = try takeResults(until: deadline)
        }
    }

    /// Commits the transaction, and waits for synchronous standbys as the server's settings say.
    ///
    /// A server that is to cancel this wait commits by itself and sends a warning. Therefore the wait has no time limit at
    /// the server and is never cancelled, and a warning counts as a failure.
    ///
    /// - Throws: ``PostgreSQLError``. If the connection is closed then, the transaction may be committed.
    package func commit() throws {
        try perform(cancels: false) { deadline in
            let warnings = libpq.warnings
            guard PQsendQuery(libpq.pointer, "SET LOCAL statement_timeout = 0; COMMIT") == 1 else { throw libpq.lost() }
            try libpq.flush(until: deadline)
            _ = try takeResults(until: deadline)
            guard libpq.warnings == warnings else {
                throw PostgreSQLError(.unavailable, "the server has committed without its synchronous standby")
            }
        }
    }

    private func run(
        _ sql: String, _ arguments: [PostgreSQLValue], onRows: (borrowing LibpqResult) throws -> Void
    ) throws -> Int {
        let encoded = try EncodedArguments(arguments)
        return try perform { deadline in
            do {
                let name = try prepare(sql, encoded, until: deadline)
                try send(sql, name, encoded)
                PQsetSingleRowMode(libpq.pointer)
                try libpq.flush(until: deadline)
                return try takeResults(until: deadline, onRows: onRows)
            } catch let error as PostgreSQLError {
                forgetIfStale(sql, error)
                throw error
            }
        }
    }

    /// Returns the name of the prepared statement that the arguments fit, after preparing it if necessary; nil if the
    /// connection has prepared as many as it may.
    private func prepare(_ sql: String, _ arguments: EncodedArguments, until deadline: Deadline) throws -> String? {
        if let prepared = statements.find(sql, arguments.types) { return prepared.name }
        let translated = try translate(sql, arguments)
        guard let name = statements.makeName() else { return nil }
        guard PQsendPrepare(libpq.pointer, name, translated.text, CInt(arguments.count), arguments.types) == 1 else {
            throw libpq.lost()
        }
        try libpq.flush(until: deadline)
        _ = try takeResults(until: deadline)
        statements.insert(sql, translated, .init(name: name, types: arguments.types))
        return name
    }

    /// Queues a statement that is prepared under the name, or as a whole without one.
    func send(_ sql: String, _ name: String?, _ arguments: EncodedArguments) throws {
        let translated = name == nil ? try translate(sql, arguments) : nil
        let isQueued = arguments.withPointers { values, lengths, formats in
            if let name {
                return PQsendQueryPrepared(
                    libpq.pointer, name, CInt(arguments.count), values, lengths, formats, 1)
            }
            return PQsendQueryParams(
                libpq.pointer, translated?.text, CInt(arguments.count), arguments.types, values, lengths, formats, 1)
        }
        guard isQueued == 1 else { throw libpq.lost() }
    }

    /// Returns the translation of a statement that has as many placeholders as there are arguments.
    func translate(_ sql: String, _ arguments: EncodedArguments) throws(PostgreSQLError) -> TranslatedStatement {
        let translated = try statements.translation(of: sql)
        guard translated.placeholders == arguments.count else {
            throw PostgreSQLError(
                .other, "a statement has \(translated.placeholders) placeholders and \(arguments.count) arguments")
        }
        return translated
    }

    /// Has a statement prepared again the next time, if the schema has changed (0A000) or the server has forgotten it
    /// (26000).
    func forgetIfStale(_ sql: String, _ error: PostgreSQLError) {
        if error.sqlState == "0A000" || error.sqlState == "26000" { statements.remove(sql) }
    }
}

/// Reads the rows of one statement, whose columns all have the same names.
struct RowReader {
    private var columns: [String]?

    /// Calls the closure for each row of a result.
    mutating func read(
        _ result: borrowing LibpqResult, _ body: (_ columns: [String], _ values: [PostgreSQLValue]) throws -> Void
    ) throws {
        let rows = PQntuples(result.pointer)
        guard rows > 0 else { return }
        let columns = columns ?? result.columns
        self.columns = columns
        guard columns.count == result.columnCount else { throw PostgreSQLConnection.unexpectedResult }
        for row in 0..<rows {
            var values: [PostgreSQLValue] = []
            values.reserveCapacity(columns.count)
            for column in 0..<CInt(columns.count) { values.append(try result.value(row: row, column: column)) }
            try body(columns, values)
        }
    }
}
