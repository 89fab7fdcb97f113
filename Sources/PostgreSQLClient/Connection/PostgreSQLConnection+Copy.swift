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
        guard !sql.utf8.contains(0) else { throw PostgreSQLError(.other, "a statement contains a NUL character") }
        return try perform { deadline in
            guard PQsendQuery(libpq.pointer, sql) == 1 else { throw libpq.lost() }
            try libpq.flush(until: deadline)
            try takeStartOfCopy(until: deadline)
            var failure: PostgreSQLError?
            do throws(PostgreSQLError) {
                var chunk = CopyText()
                for row in rows {
                    try chunk.append(row)
                    if chunk.isFull { try send(&chunk, until: deadline) }
                }
                try send(&chunk, until: deadline)
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

    private func send(_ chunk: inout CopyText, until deadline: Deadline) throws(PostgreSQLError) {
        guard !chunk.bytes.isEmpty else { return }
        // libpq copies the bytes to its buffer. It refuses only if it cannot enlarge that.
        let status = chunk.bytes.withUnsafeBytes { bytes in
            PQputCopyData(libpq.pointer, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), CInt(bytes.count))
        }
        guard status == 1 else { throw libpq.lost() }
        chunk.removeAll()
        try libpq.flush(until: deadline)
    }

    private func finishCopy(_ reason: String?, until deadline: Deadline) throws {
        guard PQputCopyEnd(libpq.pointer, reason) == 1 else { throw libpq.lost() }
        try libpq.flush(until: deadline)
    }
}
