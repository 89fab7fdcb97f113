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

    /// Sends a notification to the devices that the tags name; to all devices without tags.
    func send(_ call: Call) throws(HubFailure) -> BackendResponse {
        let fields = call.request.fields
        // The format `gcm` has ended with the interface behind it.
        guard let format = Self.formats[fields["servicebusnotification-format"]?.lowercased() ?? ""] else {
            return Self.error(400, "The ServiceBusNotification-Format header is missing or not supported.")
        }
        guard MediaType(call.request.contentType ?? "").essence == format.type else {
            return Self.error(400, "The content type does not fit the format.")
        }
        if format.pns == "wns", fields["x-wns-type"] == nil {
            return Self.error(400, "The X-WNS-Type header is missing.")
        }
        guard let payload = String(validating: call.request.body, as: UTF8.self),
            Self.isValid(call.request.body, format.pns)
        else { return Self.error(400, "The supplied notification payload is invalid.") }
        guard let service = PushService(word: format.pns), payload.utf8.count <= service.payloadLimit else {
            return Self.error(413, "The notification payload is too large.")
        }
        // No device has this tag, so every device matches.
        let expression = fields["servicebusnotification-tags"] ?? "!notify-gateway-no-device"
        try hub.send(
            payload, pns: format.pns, to: expression,
            fields: fields.filter { Self.passedOn.contains($0.key) })
        var response = BackendResponse(201, contentType: "application/xml; charset=utf-8")
        response.fields["Location"] = call.uri(access.hub, "messages/\(UUID().uuidString.lowercased())")
        return response
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
