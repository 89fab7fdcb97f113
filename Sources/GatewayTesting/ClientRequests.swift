internal import GatewayCore
internal import GatewaySupport

/// The requests of the shipped clients, byte for byte as their HTTP stacks write them: header order, spacing, and
/// escaping or the lack of it.
///
/// The gateway must accept the differences between the clients; see the contract's chapter on clients.
public struct ClientRequests: Sendable {
    /// The generations of clients.
    public enum Kind: String, Sendable, CaseIterable {
        /// Objective-C on iOS.
        case ios
        /// C# on Windows.
        case windows
        /// Java on Android.
        case android
    }

    /// The generation of the client.
    public var kind: Kind
    /// The value of `Host`.
    public var host: String
    /// The user, also used as the password.
    public var user: String
    /// The device's handle.
    public var handle: String
    /// The recipient of the message.
    public var recipient: String
    /// The message as a person typed it.
    public var message: String

    /// Creates a client.
    public init(kind: Kind, host: String, user: String, handle: String, recipient: String, message: String) {
        self.kind = kind
        self.host = host
        self.user = user
        self.handle = handle
        self.recipient = recipient
        self.message = message
    }

    /// The request `POST /api/register`.
    public var reservation: [UInt8] {
        switch kind {
        case .ios:
            request("POST /api/register?handle=\(handle)", [hostField, "Accept: */*", authorization], body: [])
        case .windows:
            request(
                "POST /api/register",
                [authorization, "Content-Type: text/plain; charset=utf-8", hostField, "Content-Length: 0"], body: [])
        case .android:
            request(
                "POST /api/register?handle=\(handle)", [authorization, "Content-Length: 0", hostField] + apache,
                body: [])
        }
    }

    /// Returns the request `PUT /api/register/{id}`.
    public func registration(id: String) -> [UInt8] {
        let line = "PUT /api/register/\(id)"
        switch kind {
        case .ios:
            let body = Array(
                "{\n  \"Tags\" : [\n\n  ],\n  \"Handle\" : \"\(handle)\",\n  \"Platform\" : \"apns\"\n}".utf8)
            return request(
                line, [hostField, "Accept: */*", "Content-Type: application/json", authorization, length(body)],
                body: body)
        case .windows:
            let body = Array(#"{"Platform":"wns","Handle":"\#(handle)","Tags":["myTag"]}"#.utf8)
            return request(
                line, [authorization, "Content-Type: application/json; charset=utf-8", hostField, length(body)],
                body: body)
        case .android:
            let body = Array(#"{"Platform":"gcm","Handle":"\#(handle)","Tags":[]}"#.utf8)
            return request(
                line, [authorization, "Content-Type: application/json", length(body), hostField] + apache, body: body)
        }
    }

    /// The request `POST /api/notifications`: the message between quotation marks, without escaping.
    public var send: [UInt8] { send(position: "") }

    /// Returns the request `POST /api/notifications` of a client with geofencing, which adds its position.
    public func send(latitude: String, longitude: String) -> [UInt8] {
        send(position: "&latitude=\(latitude)&longitude=\(longitude)")
    }

    /// Returns the request `GET /api/notifications/{id}` of a client of the tutorial "secure push".
    public func fetch(id: String) -> [UInt8] {
        let line = "GET /api/notifications/\(id)"
        switch kind {
        case .ios: return request(line, [hostField, "Accept: */*", authorization], body: [])
        case .windows: return request(line, [authorization, hostField, "Connection: Keep-Alive"], body: [])
        case .android: return request(line, [authorization, hostField] + apache, body: [])
        }
    }

    private func send(position: String) -> [UInt8] {
        let quoted = "\"\(message)\""
        func line(_ pns: String) -> String { "POST /api/notifications?pns=\(pns)&to_tag=\(recipient)\(position)" }
        switch kind {
        case .ios:
            let body = Array(quoted.utf8)
            return request(
                line("apns"),
                [
                    hostField, "Accept: */*", "Content-Type: application/json;charset=utf-8", authorization,
                    length(body),
                ],
                body: body)
        case .windows:
            let body = Array(quoted.utf8)
            return request(
                line("wns"), [authorization, "Content-Type: application/json; charset=utf-8", hostField, length(body)],
                body: body)
        case .android:
            // ISO-8859-1 without a declared charset. Other characters become question marks.
            let body = quoted.unicodeScalars.map { UInt8(exactly: $0.value) ?? UInt8(ascii: "?") }
            return request(
                line("gcm"), [authorization, "Content-Type: application/json", length(body), hostField] + apache,
                body: body)
        }
    }

    private var apache: [String] {
        ["Connection: Keep-Alive", "User-Agent: Apache-HttpClient/UNAVAILABLE (java 1.4)"]
    }

    private var authorization: String {
        let pair = Base64.encode("\(user):\(user)".utf8, .standard)
        return "Authorization: Basic \(String(decoding: pair, as: UTF8.self))"
    }

    private var hostField: String { "Host: \(host)" }

    private func length(_ body: [UInt8]) -> String { "Content-Length: \(body.count)" }

    private func request(_ line: String, _ fields: [String], body: [UInt8]) -> [UInt8] {
        Array("\(line) HTTP/1.1\r\n\(fields.joined(separator: "\r\n"))\r\n\r\n".utf8) + body
    }
}
