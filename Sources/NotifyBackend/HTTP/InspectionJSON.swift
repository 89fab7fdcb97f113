import Foundation

/// The JSON of inspections. Member names are in kebab case, like in the project's other formats.
enum InspectionJSON {
    /// Returns a JSON array of registrations.
    static func text(_ registrations: [Registration]) -> String {
        text(registrations.map(RegistrationRecord.init))
    }

    /// Returns a JSON array of notifications.
    static func text(_ notifications: [DeliveredNotification]) -> String {
        text(notifications.map(NotificationRecord.init))
    }

    /// Returns one notification as a JSON object on one line.
    static func text(_ notification: DeliveredNotification) -> String {
        text(NotificationRecord(notification))
    }

    private static func text(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding strings and numbers cannot fail.
        guard let data = try? encoder.encode(value) else { return "null" }
        return String(decoding: data, as: UTF8.self)
    }

    private struct RegistrationRecord: Encodable {
        let id: String
        let platform: String
        let handle: String
        let tags: [String]

        init(_ registration: Registration) {
            id = registration.id
            platform = registration.platform
            handle = registration.handle
            tags = registration.tags
        }
    }

    private struct NotificationRecord: Encodable {
        enum CodingKeys: String, CodingKey {
            case sequence, at, pns, registration, payload, fields
            case tagsMatched = "tags-matched"
        }

        let sequence: UInt64
        let at: String
        let pns: String
        let registration: String
        let tagsMatched: [String]
        let payload: String
        let fields: [String: String]?

        init(_ notification: DeliveredNotification) {
            sequence = notification.sequence
            at = notification.at.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
            pns = notification.pns
            registration = notification.registration
            tagsMatched = notification.tagsMatched
            payload = notification.payload
            fields = notification.fields.isEmpty ? nil : notification.fields
        }
    }
}
