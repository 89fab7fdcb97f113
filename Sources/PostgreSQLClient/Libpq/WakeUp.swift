internal import CLibpq
internal import Glibc

/// Ends the wait of a connection's thread for notifications. Any thread may use it, also after the connection is closed.
package final class PostgreSQLWakeUp: Sendable {
    let descriptor: Int32

    init() throws(PostgreSQLError) {
        descriptor = notify_gateway_eventfd()
        guard descriptor >= 0 else { throw PostgreSQLError(.unavailable, "no descriptor is left for a connection") }
    }

    deinit { close(descriptor) }

    /// Ends the present wait, or the next one if nothing waits now.
    package func wake() {
        var one: UInt64 = 1
        // It fails only if 2^64 - 2 calls have not been seen, and then the descriptor is readable.
        _ = write(descriptor, &one, 8)
    }

    /// Forgets the calls of `wake` until now.
    func reset() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
    }
}
