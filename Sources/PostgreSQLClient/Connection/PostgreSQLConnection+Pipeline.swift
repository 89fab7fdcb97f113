internal import CLibpq

extension PostgreSQLConnection {
    /// The most statements of one pipeline.
    package static let longestPipeline = 10_000

    /// Sends the statements in one round trip and returns the number of rows that each changed, or returned.
    ///
    /// Outside of a transaction block they are one transaction, unless they contain BEGIN and COMMIT. After an error the
    /// server skips the rest, so within a block the caller still has to roll back.
    ///
    /// - Parameter onRow: Receives each row with the index of its statement. It must not use the connection. If it throws,
    ///   the statements are completed all the same.
    /// - Throws: ``PostgreSQLError``, the first one, and what the closure throws.
    package func pipeline(
        _ list: [PostgreSQLStatement],
        onRow: ((_ index: Int, _ columns: [String], _ values: [PostgreSQLValue]) throws -> Void)? = nil
    ) throws -> [Int] {
        guard !list.isEmpty else { return [] }
        guard list.count <= Self.longestPipeline else {
            throw PostgreSQLError(.other, "a pipeline has \(list.count) statements")
        }
        let encoded = try list.map { statement in try EncodedArguments(statement.arguments) }
        // Before anything is sent: a statement that cannot be sent leaves the pipeline empty.
        for (statement, arguments) in zip(list, encoded) { _ = try translate(statement.sql, arguments) }
        return try perform { deadline in
            guard PQenterPipelineMode(libpq.pointer) == 1 else { throw libpq.lost() }
            var pending: [PendingStatement] = []
            for (statement, arguments) in zip(list, encoded) {
                pending.append(try queue(statement, arguments))
            }
            guard PQpipelineSync(libpq.pointer) == 1 else { throw libpq.lost() }
            try libpq.flush(until: deadline)
            return try takePipeline(pending, until: deadline, onRow: onRow)
        }
    }

    /// A statement of a pipeline whose result is still to come.
    private struct PendingStatement {
        let sql: String
        /// The preparation that is sent before it; nil if it is prepared already.
        let preparation: StatementCache.Prepared?
    }

    private func queue(
        _ statement: PostgreSQLStatement, _ arguments: EncodedArguments
    ) throws -> PendingStatement {
        var preparation: StatementCache.Prepared?
        var name = statements.find(statement.sql, arguments.types)?.name
        if name == nil, let newName = statements.makeName() {
            let translated = try translate(statement.sql, arguments)
            guard
                PQsendPrepare(libpq.pointer, newName, translated.text, CInt(arguments.count), arguments.types) == 1
            else { throw libpq.lost() }
            let prepared = StatementCache.Prepared(name: newName, types: arguments.types)
            // The rest of the pipeline uses it. If the pipeline fails before, it is removed again.
            statements.insert(statement.sql, translated, prepared)
            preparation = prepared
            name = newName
        }
        try send(statement.sql, name, arguments)
        return PendingStatement(sql: statement.sql, preparation: preparation)
    }

    private func takePipeline(
        _ list: [PendingStatement], until deadline: Deadline,
        onRow: ((_ index: Int, _ columns: [String], _ values: [PostgreSQLValue]) throws -> Void)?
    ) throws -> [Int] {
        var counts: [Int] = []
        var failure: (any Error)?
        for (index, statement) in list.enumerated() {
            if let prepared = statement.preparation {
                let outcome = try takePipelined(until: deadline, onRows: { _ in })
                if !outcome.isComplete { statements.removeUnprepared(statement.sql, prepared) }
                failure = failure ?? outcome.failure
            }
            var reader = RowReader()
            let isWanted = failure == nil
            let outcome = try takePipelined(until: deadline) { result in
                guard isWanted, let onRow else { return }
                try reader.read(result) { columns, values in try onRow(index, columns, values) }
            }
            counts.append(outcome.changedRows)
            if let error = outcome.failure as? PostgreSQLError { forgetIfStale(statement.sql, error) }
            failure = failure ?? outcome.failure
        }
        guard let end = try libpq.nextResult(until: deadline), end.status == PGRES_PIPELINE_SYNC,
            PQexitPipelineMode(libpq.pointer) == 1
        else { throw Self.unexpectedResult }
        if let failure { throw failure }
        return counts
    }

    /// The result of one statement of a pipeline.
    private struct PipelinedOutcome {
        var changedRows = 0
        var failure: (any Error)?
        /// Whether the server completed it.
        var isComplete = false
    }

    private func takePipelined(
        until deadline: Deadline, onRows: (borrowing LibpqResult) throws -> Void
    ) throws -> PipelinedOutcome {
        var outcome = PipelinedOutcome()
        // libpq takes it for the statement whose results come next; it has none for a preparation.
        PQsetSingleRowMode(libpq.pointer)
        while let result = try libpq.nextResult(until: deadline) {
            switch result.status {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
                outcome.changedRows = result.changedRows
                outcome.isComplete = true
            case PGRES_SINGLE_TUPLE, PGRES_EMPTY_QUERY, PGRES_PIPELINE_ABORTED: break
            case PGRES_FATAL_ERROR:
                let error = result.error(isConnectionLost: libpq.isLost)
                if error.kind == .unavailable { throw error }
                outcome.failure = outcome.failure ?? error
            default: throw Self.unexpectedResult
            }
            if outcome.failure == nil {
                do { try onRows(result) } catch { outcome.failure = error }
            }
            if deadline.hasPassed { throw LibpqConnection.timedOut }
        }
        return outcome
    }
}
