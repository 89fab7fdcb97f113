internal import CLibpq

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
    /// The addresses of a name are tried in order. Each gets an equal share of the server's remaining time, so that one that
    /// drops packets leaves time for the next. The resolution of a host name blocks beyond that, as long as resolv.conf(5)
    /// lets it: with its defaults at most 10 s for each name server. Like libpq, it asks no further server after one has
    /// rejected the user or the password.
    package static func connect(
        _ settings: PostgreSQLSettings, within duration: Duration
    ) throws(PostgreSQLError) -> PostgreSQLConnection {
        let deadline = Deadline(after: duration)
        let wakeUp = try PostgreSQLWakeUp()
        var errors: [PostgreSQLError] = []
        servers: for server in try ConnectionParameters.servers(settings) {
            if !errors.isEmpty, deadline.hasPassed { break }
            let addresses: [ConnectionParameters]
            do throws(PostgreSQLError) { addresses = try ConnectionParameters.all(settings, server) } catch {
                errors.append(error)
                continue
            }
            let end = deadline.earlier(of: Deadline(after: settings.connectTimeout))
            for (index, parameters) in addresses.enumerated() {
                do throws(PostgreSQLError) {
                    let libpq = try LibpqConnection.open(parameters, until: end.share(of: addresses.count - index))
                    let connection = PostgreSQLConnection(
                        libpq, wakeUp: wakeUp, statementDeadline: settings.statementTimeout)
                    try connection.verifySchema(settings)
                    return connection
                } catch {
                    errors.append(error)
                    if error.kind == .rejected, error.sqlState != nil { break servers }
                }
            }
        }
        // A rejection says more than an address where nobody listens.
        guard errors.count != 1, let decisive = errors.last(where: { $0.kind == .rejected }) ?? errors.last else {
            throw errors.first ?? PostgreSQLError(.rejected, "the settings of PostgreSQL name no server")
        }
        throw PostgreSQLError(decisive, message: errors.map(\.message).joined(separator: "; "))
    }

    /// Whether calls may succeed. False after ``close()`` and after the server, the network or a deadline failed.
    package var isUsable: Bool { libpq.pointer != nil }

    /// Whether the session is within a transaction block, failed or not.
    package var isInTransaction: Bool {
        let status = PQtransactionStatus(libpq.pointer)
        return status == PQTRANS_INTRANS || status == PQTRANS_INERROR
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
