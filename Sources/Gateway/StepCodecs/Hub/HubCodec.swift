internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// The REST protocol of Azure Notification Hubs (docs/hub.md), without a backend in between.
///
/// A request has the gateway's own header fields, no byte of the client's, and no correlation ids, because the hub
/// belongs to somebody else.
final class HubCodec: StepCodec {
    private let settings: HubSettings
    private let signature: HubSignature
    private let pauses: HubPauses
    private let clocks: Clocks

    /// Creates a codec for one hub.
    init(_ settings: HubSettings, clocks: Clocks) {
        self.settings = settings
        self.clocks = clocks
        signature = HubSignature(
            resource: "\(settings.connection.isLocal ? "http" : "https")://\(settings.resource)",
            keyName: settings.connection.keyName, key: settings.connection.key)
        pauses = HubPauses(clocks: clocks)
    }

    var credentialField: String { "Authorization" }

    /// A hub responds to an upsert with the registration that it has stored.
    var confirmsUpdates: Bool { true }

    var listsRegistrations: Bool { true }

    func pause(of kind: UpstreamStep.Kind) -> Int? { pauses.rest(of: kind) }

    /// Begins a pause and returns its length in seconds. Without stated seconds it has a standard length.
    func beginPause(_ kind: UpstreamStep.Kind, seconds: Int?) -> Int { pauses.begin(kind, seconds: seconds) }

    /// Returns the whole payload.
    func content(of text: String, for service: PushService, from sender: UserName) throws(Rejection) -> [UInt8] {
        let payload = try settings.payloads.payload(of: text, for: service, from: sender)
        try service.checkPayload(length: payload.count)
        return payload
    }

    func secureContent(id: String, for service: PushService) -> [UInt8]? {
        HubPayloads.securePayload(id: id, for: service)
    }

    @inline(never)
    func request(for step: UpstreamStep, caller: UserName, reserved: String?, _ origin: RequestOrigin) -> ByteBuffer? {
        switch step {
        case .reserve(nil):
            return request("POST", path: "/registrationids", body: []) { _ in }
        case .reserve(let handle?):
            return request("GET", path: "/registrations", lookUp: handle, body: nil) { _ in }
        case .upsert(.known(let id), let registration): return upsert(id.text, registration)
        case .upsert(.reserved, let registration): return reserved.flatMap { upsert($0, registration) }
        case .delete(let id, _):
            return request("DELETE", path: "/registrations/", id: id.text, body: nil) { $0.append("\r\nIf-Match: *") }
        case .send(let send):
            return request(
                "POST", path: send.time == nil ? "/messages" : "/schedulednotifications", body: send.content
            ) { fields in
                self.appendFields(of: send, to: &fields)
            }
        case .cancel(let notification):
            return request("DELETE", path: "/schedulednotifications/", id: notification, body: nil) { _ in }
        }
    }

    private func upsert(_ id: String, _ registration: UpstreamRegistration) -> ByteBuffer {
        request("PUT", path: "/registrations/", id: id, body: HubEntry.bytes(of: registration)) { fields in
            fields.append("\r\nContent-Type: application/atom+xml;type=entry;charset=utf-8")
        }
    }

    /// The number of registrations of one handle that a reservation asks for. The ledger allows one; more come from the
    /// time before the gateway, and the rest is found by the next registration of the device.
    private static let page: StaticString = "20"

    /// Appends a filter for the handle. A quotation mark in it would be doubled; the grammars of handles allow none.
    private static func appendFilter(_ handle: DeviceHandle, to query: inout ByteWriter) {
        query.append("&$filter=")
        query.append(HubEntry.handleElement(of: handle.service))
        query.append("%20eq%20%27")
        query.append(percentEncoding: handle.text)
        query.append("%27&$top=")
        query.append(page)
    }

    private func appendFields(of send: UpstreamSend, to fields: inout ByteWriter) {
        switch send.service {
        case .apns:
            fields.append("\r\nContent-Type: application/json;charset=utf-8\r\nServiceBusNotification-Format: apple")
            if send.isSecure {
                // A notification that wakes the app must have this priority. A later one must not replace it, because
                // its id would be lost.
                fields.append("\r\napns-push-type: background\r\napns-priority: 5")
            } else {
                appendAlertFields(to: &fields)
            }
            if let lifetime = settings.apns.lifetime {
                fields.append("\r\nServiceBusNotification-Apns-Expiry: ")
                fields.append(text: clocks.wall().adding(lifetime.components.seconds * 1_000_000).description)
            }
        case .fcm:
            fields.append("\r\nContent-Type: application/json;charset=utf-8\r\nServiceBusNotification-Format: fcmV1")
        case .wns:
            fields.append("\r\nContent-Type: ")
            fields.append(send.isSecure ? "application/octet-stream" : "application/xml;charset=utf-8")
            fields.append("\r\nServiceBusNotification-Format: windows\r\nX-WNS-Type: wns/")
            fields.append(send.isSecure ? "raw" : "toast")
        case .mpns:
            fields.append("\r\nContent-Type: application/xml;charset=utf-8")
            fields.append("\r\nServiceBusNotification-Format: windowsphone")
            fields.append("\r\nX-WindowsPhone-Target: toast\r\nX-NotificationClass: 2")
        }
        fields.append("\r\nServiceBusNotification-Tags: username:")
        fields.append(text: send.recipient.text)
        if let time = send.time {
            fields.append("\r\nServiceBusNotification-ScheduleTime: ")
            fields.append(text: time.description)
        }
    }

    private func appendAlertFields(to fields: inout ByteWriter) {
        fields.append("\r\napns-push-type: ")
        fields.append(text: settings.apns.pushType)
        if let priority = settings.apns.priority {
            fields.append("\r\napns-priority: ")
            fields.append(decimal: priority)
        }
        if let id = settings.apns.collapseID {
            fields.append("\r\napns-collapse-id: ")
            fields.append(text: id)
        }
    }

    /// Returns a request with the hub's authority and a signature.
    ///
    /// - Parameters:
    ///   - path: The path after the name of the hub.
    ///   - id: The last segment of the path.
    ///   - query: The query after the version, encoded, with a leading ampersand.
    ///   - handle: The handle that the query filters by.
    ///   - continuation: The token with which a list goes on.
    ///   - fields: Appends further header lines, each after a line end.
    func request(
        _ method: StaticString, path: StaticString, id: String? = nil, query: StaticString = "",
        lookUp handle: DeviceHandle? = nil, continuation: String? = nil, body: [UInt8]?,
        fields: (inout ByteWriter) -> Void
    ) -> ByteBuffer {
        ByteBuffer(expecting: 768 + (body?.count ?? 0)) { bytes in
            bytes.append(method)
            bytes.append(" /")
            bytes.append(text: settings.name)
            bytes.append(path)
            if let id { bytes.append(text: id) }
            bytes.append("?api-version=")
            bytes.append(text: settings.apiVersion)
            bytes.append(query)
            if let handle { Self.appendFilter(handle, to: &bytes) }
            if let continuation {
                bytes.append("&ContinuationToken=")
                bytes.append(percentEncoding: continuation)
            }
            bytes.append(" HTTP/1.1\r\nHost: ")
            bytes.append(text: settings.connection.hostField)
            bytes.append("\r\nAuthorization: ")
            signature.append(to: &bytes, now: clocks.wall())
            fields(&bytes)
            if let body {
                bytes.append("\r\nContent-Length: ")
                bytes.append(decimal: body.count)
            }
            bytes.append("\r\n\r\n")
            if let body { bytes.append(body) }
        }
    }
}
