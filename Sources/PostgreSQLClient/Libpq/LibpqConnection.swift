internal import CLibpq
internal import GatewaySupport
internal import Glibc

/// A connection of libpq in non-blocking mode, whose waits all have a deadline. Used by one thread at a time.
///
/// After an error of the kind `unavailable` its owner calls ``abort()``.
final class LibpqConnection {
    /// The connection, until it is closed.
    private(set) var pointer: OpaquePointer?
    private let warningCount = UnsafeMutablePointer<CInt>.allocate(capacity: 1)
    /// libpq may hold bytes that TLS has decrypted but that it has not taken yet, which poll(2) does not see. With TLS,
    /// waits look again after these milliseconds. PostgreSQL's records of 8 KiB always fit; those of a proxy need not.
    private static let pendingCheck: Int32 = 20
    /// The same without a statement, when only short messages come.
    private static let idlePendingCheck: Int32 = 500

    /// The event that ended a wait.
    enum Readiness { case readable, writable, timedOut, woken }

    private init(_ pointer: OpaquePointer) {
        self.pointer = pointer
        warningCount.initialize(to: 0)
        notify_gateway_count_warnings(pointer, warningCount)
    }

    deinit {
        close()
        warningCount.deallocate()
    }

    /// The number of warnings that the server has sent.
    var warnings: CInt { warningCount.pointee }

    /// Connects to one address of a server.
    static func open(
        _ parameters: ConnectionParameters, until deadline: Deadline
    ) throws(PostgreSQLError) -> LibpqConnection {
        guard let pointer = parameters.withArrays({ PQconnectStartParams($0, $1, 0) }) else {
            throw PostgreSQLError(.unavailable, "no memory is left for a connection")
        }
        let connection = LibpqConnection(pointer)
        // Makes libpq name the SQLSTATE in the text, which is all that it keeps of the server's error.
        PQsetErrorVerbosity(pointer, PQERRORS_VERBOSE)
        var isVerified = false
        var status = PQstatus(pointer) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING
        while status != PGRES_POLLING_OK {
            guard status != PGRES_POLLING_FAILED else {
                let text = PQerrorMessage(pointer).map { String(cString: $0) } ?? ""
                throw ConnectionFailure(text).error(of: parameters.server)
            }
            let isReading = status == PGRES_POLLING_READING
            if connection.wait(toWrite: !isReading, toRead: isReading, until: deadline) == .timedOut {
                throw PostgreSQLError(.unavailable, "\(parameters.server): the server did not respond in time")
            }
            status = PQconnectPoll(pointer)
            // The call in which the handshake ends sends nothing; the next one would send the first message.
            if let name = parameters.name {
                do throws(ServerName.Mismatch) { isVerified = try connection.verify(name) } catch {
                    throw PostgreSQLError(.rejected, "\(parameters.server): \(error)")
                }
            }
        }
        guard isVerified || parameters.name == nil else {
            throw PostgreSQLError(.rejected, "\(parameters.server): libpq did not let its certificate be verified")
        }
        PQsetErrorVerbosity(pointer, PQERRORS_DEFAULT)
        guard PQserverVersion(pointer) >= 130_000 else {
            throw PostgreSQLError(.rejected, "\(parameters.server): the server is older than PostgreSQL 13")
        }
        guard PQsetnonblocking(pointer, 1) == 0 else { throw connection.lost() }
        return connection
    }

    /// Verifies the server's name in its certificate, if that has arrived, and returns whether it has. libpq also accepts a
    /// common name.
    private func verify(_ name: ServerName) throws(ServerName.Mismatch) -> Bool {
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = notify_gateway_server_certificate(pointer, &encoded)
        defer { notify_gateway_free(encoded) }
        guard length > 0 else { return false }
        try name.verify(UnsafeBufferPointer(start: encoded, count: Int(length)))
        return true
    }

    /// Waits until the socket is ready, the deadline passes or the descriptor `wakeUp` is readable.
    func wait(
        toWrite: Bool = false, toRead: Bool = true, until deadline: Deadline, wakeUp: Int32 = -1
    ) -> Readiness {
        let socket = PQsocket(pointer)
        let isEncrypted = PQsslInUse(pointer) == 1
        let events = Int16((toRead ? POLLIN : 0) | (toWrite ? POLLOUT : 0))
        while true {
            let remaining = deadline.remainingMilliseconds
            var descriptors = [
                pollfd(fd: socket, events: events, revents: 0), pollfd(fd: wakeUp, events: Int16(POLLIN), revents: 0),
            ]
            let slice = wakeUp < 0 ? Self.pendingCheck : Self.idlePendingCheck
            let isSliced = isEncrypted && toRead && remaining > slice
            let count = poll(&descriptors, 2, isSliced ? slice : remaining)
            if count > 0 {
                if descriptors[1].revents != 0 { return .woken }
                return descriptors[0].revents & Int16(POLLOUT) != 0 && descriptors[0].revents & Int16(POLLIN) == 0
                    ? .writable : .readable
            }
            if count == 0 { return isSliced ? .readable : .timedOut }
            // Interrupted by a signal, or without memory: the deadline bounds the repetition.
            if deadline.hasPassed { return .timedOut }
        }
    }

    /// Takes what has arrived. Does not wait.
    func consumeInput() throws(PostgreSQLError) {
        // The reason may be a message of the server that has already arrived.
        if PQconsumeInput(pointer) == 0 { throw takeError() ?? lost() }
    }

    /// Sends what libpq has buffered, and takes what arrives meanwhile.
    func flush(until deadline: Deadline) throws(PostgreSQLError) {
        while true {
            switch PQflush(pointer) {
            case 0: return
            case 1: break
            default: throw takeError() ?? lost()
            }
            switch wait(toWrite: true, until: deadline) {
            case .readable: try consumeInput()
            case .timedOut: throw Self.timedOut
            case .writable, .woken: break
            }
        }
    }

    /// Returns the next result, or nil at the end of a statement's results.
    func nextResult(until deadline: Deadline) throws(PostgreSQLError) -> LibpqResult? {
        // Rows that have arrived need no wait, so they do not look at the clock.
        while PQisBusy(pointer) == 1 {
            if wait(until: deadline) == .timedOut { throw Self.timedOut }
            try consumeInput()
        }
        return PQgetResult(pointer).map { LibpqResult($0) }
    }

    /// Whether libpq has lost the connection.
    var isLost: Bool { pointer == nil || PQstatus(pointer) == CONNECTION_BAD }

    /// The failure that libpq describes last, for calls that have no result. The state of the connection is unknown then.
    func lost() -> PostgreSQLError {
        let text = PQerrorMessage(pointer).map { String(cString: $0) } ?? ""
        return PostgreSQLError(.unavailable, text.isEmpty ? "the connection is lost" : text)
    }

    private func takeError() -> PostgreSQLError? {
        // A lost connection has at most a few results left, and a busy one blocks no longer.
        for _ in 0..<4 {
            guard isLost, let pointer = PQgetResult(pointer) else { return nil }
            let result = LibpqResult(pointer)
            if result.status == PGRES_FATAL_ERROR { return result.error(isConnectionLost: true) }
        }
        return nil
    }

    static let timedOut = PostgreSQLError(.unavailable, "the server did not respond in time")

    /// Closes the connection at once.
    ///
    /// - Parameter cancels: Whether the server is asked to cancel a statement that is running.
    func abort(cancels: Bool = true) {
        guard let pointer else { return }
        if cancels, PQstatus(pointer) == CONNECTION_OK, PQtransactionStatus(pointer) == PQTRANS_ACTIVE {
            CancelRequest.send(for: pointer)
        }
        // Without this, PQfinish might wait to send its farewell.
        let socket = PQsocket(pointer)
        if socket >= 0 { shutdown(socket, Int32(SHUT_RDWR)) }
        close()
    }

    /// Closes the connection and frees what belongs to it.
    func close() {
        if let pointer { PQfinish(pointer) }
        pointer = nil
    }
}
