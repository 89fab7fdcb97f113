internal import CLibpq

extension PostgreSQLConnection {
    /// Sends rows with `COPY … FROM STDIN` in text format and returns their number. The deadline is for all rows together.
    ///
    /// - Parameters:
    ///   - sql: The statement, such as `COPY calls (id, user) FROM STDIN`.
    ///   - rows: The rows. They are sent in chunks as they are made, and not kept.
    /// - Throws: ``PostgreSQLError``. No row is stored then.
    @discardableResult
    package func copyIn(_ sql: String, _ rows: some Sequence<[PostgreSQLValue]>) throws -> Int {
        try copyIn(sql) { deadline throws(PostgreSQLError) in
            var chunk = CopyText()
            for row in rows {
                try chunk.append(row)
                if chunk.isFull {
                    try send(chunk.bytes, until: deadline)
                    chunk.removeAll()
                }
            }
            try send(chunk.bytes, until: deadline)
        }
    }

    /// Sends encoded rows with `COPY … FROM STDIN` in text format and returns their number. The deadline is for all rows
    /// together.
    ///
    /// - Throws: ``PostgreSQLError``. No row is stored then.
    @discardableResult
    package func copyIn(_ sql: String, _ rows: CopyRows) throws -> Int {
        try copyIn(sql) { deadline throws(PostgreSQLError) in try send(rows.bytes, until: deadline) }
    }

    private func copyIn(_ sql: String, _ sendRows: (Deadline) throws(PostgreSQLError) -> Void) throws -> Int {
        guard !sql.utf8.contains(0) else { throw PostgreSQLError(.other, "a statement contains a NUL character") }
        return try perform { deadline in
            guard PQsendQuery(libpq.pointer, sql) == 1 else { throw libpq.lost() }
            try libpq.flush(until: deadline)
            try takeStartOfCopy(until: deadline)
            var failure: PostgreSQLError?
            do throws(PostgreSQLError) {
                try sendRows(deadline)
            } catch {
                if error.kind == .unavailable { throw error }
                failure = error
            }
            try finishCopy(failure == nil ? nil : "the client gave up", until: deadline)
            do {
                let count = try takeResults(until: deadline)
                guard failure == nil else { throw Self.unexpectedResult }
                return count
            } catch let error as PostgreSQLError {
                // The server reports the client's own reason as a cancelled statement (57014).
                guard let failure, error.sqlState != nil, !libpq.isLost else { throw error }
                throw failure
            }
        }
    }

    private func takeStartOfCopy(until deadline: Deadline) throws {
        guard let result = try libpq.nextResult(until: deadline) else { throw Self.unexpectedResult }
        switch result.status {
        case PGRES_COPY_IN where PQbinaryTuples(result.pointer) == 0: return
        case PGRES_FATAL_ERROR:
            let error = result.error(isConnectionLost: libpq.isLost)
            _ = try takeResults(until: deadline)
            throw error
        default: throw Self.unexpectedResult
        }
    }

    /// The number of bytes that are given to libpq at once.
    private static let chunkBytes = 256 << 10

    private func send(_ bytes: [UInt8], until deadline: Deadline) throws(PostgreSQLError) {
        var start = 0
        while start < bytes.count {
            let end = min(start + Self.chunkBytes, bytes.count)
            // libpq copies the bytes to its buffer. It refuses only if it cannot enlarge that.
            let status = bytes.withUnsafeBytes { bytes in
                PQputCopyData(
                    libpq.pointer, bytes.baseAddress?.advanced(by: start).assumingMemoryBound(to: CChar.self),
                    CInt(end - start))
            }
            guard status == 1 else { throw libpq.lost() }
            try libpq.flush(until: deadline)
            start = end
        }
    }

    private func finishCopy(_ reason: String?, until deadline: Deadline) throws {
        guard PQputCopyEnd(libpq.pointer, reason) == 1 else { throw libpq.lost() }
        try libpq.flush(until: deadline)
    }
}
