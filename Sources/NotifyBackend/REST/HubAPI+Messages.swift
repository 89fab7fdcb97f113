import Foundation
import GatewaySupport

extension HubAPI {
    /// The formats of notifications: the platform, and the essence of the payload's media type.
    private static let formats = [
        "apple": (pns: "apns", type: "application/json"), "fcmv1": (pns: "fcmv1", type: "application/json"),
        "windows": (pns: "wns", type: "application/xml"), "windowsphone": (pns: "mpns", type: "application/xml"),
    ]
    /// The fields that the service passes on to push services.
    private static let passedOn = [
        "apns-push-type", "apns-priority", "apns-collapse-id", "apns-topic", "x-wns-type", "x-wns-ttl",
        "x-windowsphone-target", "x-notificationclass", "servicebusnotification-apns-expiry",
    ]

    /// The response to a malformed notification.
    private struct Malformed: Error {
        let value: BackendResponse

        init(_ value: BackendResponse) { self.value = value }
    }

    /// A valid notification of a request.
    private struct Message {
        let payload: String
        let pns: String
        let expression: String
        let fields: [String: String]
    }

    /// Sends a notification to the devices that the tags name; to all devices without tags.
    func send(_ call: Call) throws(HubFailure) -> BackendResponse {
        switch message(call) {
        case .failure(let response): return response.value
        case .success(let message):
            try hub.send(message.payload, pns: message.pns, to: message.expression, fields: message.fields)
            return created("messages/\(UUID().uuidString.lowercased())", call)
        }
    }

    /// Keeps a notification until the time that it names.
    func schedule(_ call: Call) throws(HubFailure) -> BackendResponse {
        guard let text = call.request.fields["servicebusnotification-scheduletime"],
            let time = WallTime(rfc3339: text)
        else { return Self.error(400, "The ServiceBusNotification-ScheduleTime header is missing or malformed.") }
        switch message(call) {
        case .failure(let response): return response.value
        case .success(let message):
            let id = try hub.schedule(
                message.payload, pns: message.pns, to: message.expression, fields: message.fields,
                at: Date(timeIntervalSince1970: Double(time.microseconds) / 1_000_000))
            return created("schedulednotifications/\(id)", call)
        }
    }

    private func created(_ path: String, _ call: Call) -> BackendResponse {
        var response = BackendResponse(201, contentType: "application/xml; charset=utf-8")
        response.fields["Location"] = call.uri(access.hub, path)
        return response
    }

    /// Returns the notification of a request, or the response to a malformed one.
    private func message(_ call: Call) -> Result<Message, Malformed> {
        let fields = call.request.fields
        // The format `gcm` has ended with the interface behind it.
        guard let format = Self.formats[fields["servicebusnotification-format"]?.lowercased() ?? ""] else {
            return .failure(
                Malformed(Self.error(400, "The ServiceBusNotification-Format header is missing or not supported.")))
        }
        let isRaw = format.pns == "wns" && fields["x-wns-type"] == "wns/raw"
        guard MediaType(call.request.contentType ?? "").essence == (isRaw ? "application/octet-stream" : format.type)
        else {
            return .failure(Malformed(Self.error(400, "The content type does not fit the format.")))
        }
        if format.pns == "wns", fields["x-wns-type"] == nil {
            return .failure(Malformed(Self.error(400, "The X-WNS-Type header is missing.")))
        }
        guard let payload = String(validating: call.request.body, as: UTF8.self),
            isRaw || Self.isValid(call.request.body, format.pns)
        else { return .failure(Malformed(Self.error(400, "The supplied notification payload is invalid."))) }
        guard let service = PushService(word: format.pns), payload.utf8.count <= service.payloadLimit else {
            return .failure(Malformed(Self.error(413, "The notification payload is too large.")))
        }
        return .success(
            Message(
                payload: payload, pns: format.pns,
                // No device has this tag, so every device matches.
                expression: fields["servicebusnotification-tags"] ?? "!notify-gateway-no-device",
                fields: fields.filter { Self.passedOn.contains($0.key) }))
    }

    private static func isValid(_ payload: [UInt8], _ pns: String) -> Bool {
        switch pns {
        case "wns", "mpns":
            var tokenizer = XMLTokenizer(payload)
            do throws(XMLTokenizer.Malformed) { while try tokenizer.next() != nil {} } catch { return false }
            return true
        default:
            guard let value = try? JSONParser(depthLimit: 32, memberLimit: 1024).parse(payload.span),
                case .object = value
            else { return false }
            // FCM's HTTP v1 interface takes an object `message`.
            return pns != "fcmv1" || value["message"] != nil
        }
    }
}
