internal import CLibpq
package import GatewaySupport

/// A message that a session sent to those that listen to a channel.
package struct PostgreSQLNotification: Sendable, Hashable {
    /// The channel.
    package let channel: String
    /// The text that the sender gave, which may be empty.
    package let payload: String
}

extension PostgreSQLConnection {
    /// Subscribes the session to a channel, from the end of the present transaction on.
    package func listen(_ channel: String) throws { try simple("LISTEN \(QuotedIdentifier(channel).text)") }

    /// Returns the next notification; nil if the instant passes first, or if another thread calls ``wakeUp``.
    ///
    /// - Throws: ``PostgreSQLError``. Notifications may be lost then, so the caller reads the tables again.
    package func waitForNotification(until instant: MonotonicInstant) throws -> PostgreSQLNotification? {
        // A wait is not a statement, so it has no deadline of its own.
        try perform { _ in
            let deadline = Deadline(at: instant)
            while true {
                try notifications.take(from: libpq)
                if let notification = notifications.removeFirst() { return notification }
                switch libpq.wait(until: deadline, wakeUp: wakeUp.descriptor) {
                case .timedOut: return nil
                case .woken:
                    wakeUp.reset()
                    return nil
                case .readable, .writable: try libpq.consumeInput()
                }
            }
        }
    }
}

/// Notifications that have arrived, in order.
struct ReceivedNotifications {
    /// The most notifications that wait for their reader.
    private static let limit = 10_000
    private var waiting: [PostgreSQLNotification] = []
    private var start = 0

    /// Takes those that libpq has received.
    ///
    /// - Throws: if more wait than the reader may leave.
    mutating func take(from libpq: LibpqConnection) throws(PostgreSQLError) {
        while let received = PQnotifies(libpq.pointer) {
            defer { PQfreemem(received) }
            guard waiting.count - start < Self.limit else {
                throw PostgreSQLError(.unavailable, "more than \(Self.limit) notifications wait for their reader")
            }
            waiting.append(
                PostgreSQLNotification(
                    channel: String(cString: received.pointee.relname),
                    payload: received.pointee.extra.map { String(cString: $0) } ?? ""))
        }
    }

    mutating func removeFirst() -> PostgreSQLNotification? {
        guard start < waiting.count else { return nil }
        defer {
            start += 1
            if start == waiting.count {
                waiting.removeAll(keepingCapacity: waiting.capacity <= 1024)
                start = 0
            }
        }
        return waiting[start]
    }
}
