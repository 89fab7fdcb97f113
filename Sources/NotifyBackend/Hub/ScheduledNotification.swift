import Foundation
import Synchronization

/// A notification that a hub keeps until the time of its delivery.
struct ScheduledNotification: Sendable {
    /// The id, in the form of the service's: letters, digits, underscores and hyphens.
    let id: String
    let time: Date
    let payload: String
    let pns: String
    /// The tag expression that names the devices.
    let expression: String
    /// The header fields for the push service.
    let fields: [String: String]
}

extension NotificationHub {
    /// The longest time until a delivery, in seconds: seven days.
    static let maximumDelay: TimeInterval = 7 * 86_400
    /// The maximum number of notifications that wait.
    static let maximumScheduled = 10_000

    /// Keeps a notification until its time. Throws `badRequest` if the time is not within the next seven days, or the
    /// expression is malformed.
    ///
    /// - Returns: The notification's id.
    func schedule(
        _ payload: String, pns: String, to expression: String, fields: [String: String], at time: Date
    ) throws(HubFailure) -> String {
        let delay = time.timeIntervalSince(now())
        guard delay > 0, delay <= Self.maximumDelay else { throw .badRequest }
        _ = try TagExpression(parsing: expression)
        let id = "\(UUID().uuidString.filter { $0 != "-" }.lowercased())_\(Int(time.timeIntervalSince1970))_17"
        let isKept = state.withLock { state in
            guard state.scheduled.count < Self.maximumScheduled else { return false }
            state.scheduled[id] = ScheduledNotification(
                id: id, time: time, payload: payload, pns: pns, expression: expression, fields: fields)
            return true
        }
        guard isKept else { throw .busy }
        return id
    }

    /// Removes a notification that waits. Throws `notFound` if there is none with the id.
    func cancel(scheduled id: String) throws(HubFailure) {
        guard state.withLock({ $0.scheduled.removeValue(forKey: id) }) != nil else { throw .notFound }
    }

    /// Delivers the notifications whose time has come, in the order of their times.
    func deliverDue() {
        let time = now()
        let due = state.withLock { state in
            let due = state.scheduled.values.filter { $0.time <= time }
            for notification in due { state.scheduled[notification.id] = nil }
            return due
        }
        for notification in due.sorted(by: { $0.time < $1.time }) {
            // The expression was parsed when the notification was scheduled.
            _ = try? send(
                notification.payload, pns: notification.pns, to: notification.expression, fields: notification.fields)
        }
    }
}
