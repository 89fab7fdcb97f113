internal import CLibpq
internal import Synchronization
internal import Glibc

/// Requests to cancel a statement, each on a thread of its own: PQcancel connects to the server and waits for it without a
/// bound of its own, and a frozen server never responds.
///
/// PQcancel does not use TLS before libpq 17. The request contains the number and the key of a session that is about to
/// end, nothing else.
enum CancelRequest {
    /// The most threads that wait for servers at one time. Beyond them, the server's statement timeout ends the statement.
    private static let limit = 4
    private static let running = Atomic(0)

    /// Asks the server to cancel the connection's statement, without waiting for it.
    static func send(for connection: OpaquePointer) {
        guard running.add(1, ordering: .relaxed).newValue <= limit, let request = PQgetCancel(connection) else {
            running.subtract(1, ordering: .relaxed)
            return
        }
        var thread = pthread_t()
        let status = pthread_create(&thread, nil, Self.run, UnsafeMutableRawPointer(request))
        guard status == 0 else { return finish(request) }
        pthread_detach(thread)
    }

    private static let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
        guard let argument else { return nil }
        let request = OpaquePointer(argument)
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { reason in
            _ = PQcancel(request, reason.baseAddress, CInt(reason.count))
        }
        finish(request)
        return nil
    }

    private static func finish(_ request: OpaquePointer) {
        PQfreeCancel(request)
        running.subtract(1, ordering: .relaxed)
    }
}
