internal import CLibpq
internal import Synchronization

/// A connection to PostgreSQL for a caller that owns a thread: each call blocks until it is complete or its deadline passes.
///
/// One thread uses it at a time; only ``wakeUp`` is for others. After an error of the kind `unavailable` it is closed, and its
/// owner opens another. Other errors leave it usable; within a transaction the caller then has to roll back. If it is not
/// in a transaction block, each call is a transaction of its own.
package final class PostgreSQLConnection {
    /// How long each call may last. When it passes, the statement is cancelled and the connection is closed. The server's
    /// own `statement_timeout` stays that of the settings.
    package var statementDeadline: Duration
    /// Ends ``waitForNotification(until:)`` from another thread.
    package let wakeUp: PostgreSQLWakeUp

    /// The timeline of the server's write-ahead log, which changes when a standby is promoted; empty until it was read, and
    /// if the server does not tell.
    package private(set) var timeline = ""

    let libpq: LibpqConnection
    var statements = StatementCache()
    var notifications = ReceivedNotifications()
    private var isInCall = false

    private init(_ libpq: LibpqConnection, wakeUp: PostgreSQLWakeUp, statementDeadline: Duration) {
        self.libpq = libpq
        self.wakeUp = wakeUp
        self.statementDeadline = statementDeadline
    }

    /// Connects to the first server that accepts the session, within the duration for all of them together and
    /// `connectTimeout` for each.
    ///
    /// The server that accepted the last session is tried first, then the others in the order of the settings. Each gets an
    /// equal share of the remaining time, and so does each address of a name, so that one that drops packets leaves time for
    /// the next. A server that rejects the session, such as a former primary that was fenced, does not end the search. The
    /// resolution of a host name blocks beyond that, as long as resolv.conf(5) lets it: with its defaults at most 10 s for
    /// each name server.
    package static func connect(
        _ settings: PostgreSQLSettings, within duration: Duration
    ) throws(PostgreSQLError) -> PostgreSQLConnection {
        let deadline = Deadline(after: duration)
        let wakeUp = try PostgreSQLWakeUp()
        let servers = try ConnectionParameters.servers(settings)
        let first = settings.lastServer.index.load(ordering: .relaxed)
        let order =
            servers.indices.contains(first) ? [first] + servers.indices.filter { $0 != first } : [Int](servers.indices)
        var failures: [PostgreSQLError] = []
        for (position, index) in order.enumerated() {
            let share = deadline.share(of: order.count - position)
            let end = share.earlier(of: Deadline(after: settings.connectTimeout))
            do throws(PostgreSQLError) {
                let connection = try connect(settings, servers[index], wakeUp: wakeUp, until: end)
                settings.lastServer.index.store(index, ordering: .relaxed)
                return connection
            } catch { failures.append(error) }
            if deadline.hasPassed { break }
        }
        // While one of several servers may become available, the rejections of the others are not the last word.
        throw failures.joined(decisive: .unavailable)
    }

    /// Connects to the first address of the server that accepts the session.
    private static func connect(
        _ settings: PostgreSQLSettings, _ server: ConnectionParameters.Server, wakeUp: PostgreSQLWakeUp,
        until end: Deadline
    ) throws(PostgreSQLError) -> PostgreSQLConnection {
        let addresses = try ConnectionParameters.all(settings, server)
        var failures: [PostgreSQLError] = []
        for (index, parameters) in addresses.enumerated() {
            do throws(PostgreSQLError) {
                let libpq = try LibpqConnection.open(parameters, until: end.share(of: addresses.count - index))
                let connection = PostgreSQLConnection(
                    libpq, wakeUp: wakeUp, statementDeadline: settings.statementTimeout)
                try connection.verifySchema(settings)
                return connection
            } catch { failures.append(error) }
        }
        // A rejection says more than an address where nobody listens.
        throw failures.joined(decisive: .rejected)
    }

    /// Whether calls may succeed. False after ``close()`` and after the server, the network or a deadline failed.
    package var isUsable: Bool { libpq.pointer != nil }

    /// Whether the session is within a transaction block, failed or not.
    package var isInTransaction: Bool {
        let status = PQtransactionStatus(libpq.pointer)
        return status == PQTRANS_INTRANS || status == PQTRANS_INERROR
    }

    /// Reads the timeline of the server. Called outside a transaction.
    package func readTimeline() throws {
        do {
            try forEachRow("SELECT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)", []) { _, values in
                if case .text(let text)? = values.first { timeline = text }
            }
        } catch let error as PostgreSQLError where isUsable && error.kind != .unavailable {
            // Databases that only resemble PostgreSQL do not have the function.
        }
    }

    /// Closes the connection. The server rolls back an open transaction.
    package func close() { libpq.close() }

    /// Runs one call: with its deadline, never within another call, and with the connection closed after a failure of
    /// the server or the network.
    ///
    /// - Parameter cancels: Whether the server is asked to cancel the statement after such a failure.
    func perform<Output>(
        cancels: Bool = true, _ body: (Deadline) throws -> Output
    ) throws -> Output {
        guard isUsable else { throw PostgreSQLError(.unavailable, "the connection is closed") }
        guard !isInCall else { throw PostgreSQLError(.other, "the connection is in use by another call") }
        isInCall = true
        defer { isInCall = false }
        do {
            let output = try body(Deadline(after: statementDeadline))
            try notifications.take(from: libpq)
            return output
        } catch let error as PostgreSQLError where error.kind == .unavailable {
            libpq.abort(cancels: cancels)
            throw error
        } catch {
            if libpq.isLost { libpq.abort(cancels: cancels) }
            throw error
        }
    }

    /// Takes all results of the statement that is being run.
    ///
    /// - Parameter onRows: Receives each result with rows.
    /// - Returns: The number of changed rows of the last statement.
    /// - Throws: the first error of the server or of the closure, after the last result.
    func takeResults(
        until deadline: Deadline, onRows: (borrowing LibpqResult) throws -> Void = { _ in }
    ) throws -> Int {
        var changedRows = 0
        var failure: (any Error)?
        while let result = try libpq.nextResult(until: deadline) {
            switch result.status {
            case PGRES_COMMAND_OK, PGRES_TUPLES_OK: changedRows = result.changedRows
            case PGRES_SINGLE_TUPLE: break
            case PGRES_EMPTY_QUERY: continue
            case PGRES_FATAL_ERROR:
                failure = failure ?? result.error(isConnectionLost: libpq.isLost)
                continue
            default: throw Self.unexpectedResult
            }
            if failure == nil {
                do { try onRows(result) } catch { failure = error }
            }
            // Rows that nobody wants are dropped, but not without a bound on time.
            if deadline.hasPassed { throw LibpqConnection.timedOut }
        }
        if let failure { throw failure }
        return changedRows
    }

    /// A state that only a wrong use of COPY, or a server that breaks the protocol, leads to. The connection is closed.
    static let unexpectedResult = PostgreSQLError(
        .unavailable, "the server sent a result that does not fit the statement")
}

extension [PostgreSQLError] {
    /// Returns one error with the messages of all: the last one of the kind, or the last one.
    fileprivate func joined(decisive kind: PostgreSQLError.Kind) -> PostgreSQLError {
        guard let decisive = last(where: { $0.kind == kind }) ?? last else {
            return PostgreSQLError(.rejected, "the settings of PostgreSQL name no server")
        }
        return count == 1 ? decisive : PostgreSQLError(decisive, message: map(\.message).joined(separator: "; "))
    }
}
