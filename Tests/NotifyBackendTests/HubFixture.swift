import Foundation
import GatewaySupport

@testable import NotifyBackend

/// A hub's REST interface without a socket, with a key for each right, and functions that call it.
struct HubFixture {
    let hub = NotificationHub()
    let access: HubAccess
    let api: HubAPI

    static let now = Date(timeIntervalSince1970: 1_795_000_000)

    init(hubName: String = "demo") {
        let policies = HubAccess.Right.allCases.map {
            HubAccess.Policy(name: $0.rawValue, key: Secret(Self.key(of: $0.rawValue).utf8), rights: [$0])
        }
        access = HubAccess(hub: hubName, policies: policies)
        api = HubAPI(access: access, hub: hub, now: { Self.now })
    }

    static func key(of policy: String) -> String { "key-of-\(policy)-0123456789" }

    /// Returns a signature for the whole hub.
    func signature(
        _ policy: String = "Manage", key: String? = nil, resource: String? = nil,
        expiry: Int64 = Int64(now.timeIntervalSince1970) + 60
    ) -> String {
        func encoded(_ text: String) -> String {
            text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        }
        let signed = encoded((resource ?? "https://hub.test/\(access.hub)").lowercased())
        let hmac = HMAC(.sha256, key: Secret((key ?? Self.key(of: policy)).utf8))
        let tag = hmac?.tag(over: Array("\(signed)\n\(expiry)".utf8)) ?? []
        let signature = String(decoding: Base64.encode(tag, .standard), as: UTF8.self)
        return "SharedAccessSignature sr=\(signed)&sig=\(encoded(signature))&se=\(expiry)&skn=\(policy)"
    }

    func call(
        _ method: String, _ target: String, authorization: String? = "", body: String = "",
        fields: [String: String] = [:]
    ) -> BackendResponse {
        var fields = fields
        if method == "DELETE", fields["if-match"] == nil { fields["if-match"] = "*" }
        let type = body.isEmpty ? nil : fields["content-type"] ?? "application/atom+xml;type=entry;charset=utf-8"
        return api.response(
            to: BackendRequest(
                method: method, target: target, host: "hub.test",
                authorization: authorization == "" ? signature() : authorization, contentType: type,
                body: Array(body.utf8), fields: fields))
    }

    /// Sends a small payload of the format.
    func send(
        _ target: String, format: String?, with policy: String = "Send", payload: String? = nil,
        fields: [String: String] = [:]
    ) -> BackendResponse {
        let isXML = format?.hasPrefix("windows") == true
        var all = fields
        all["servicebusnotification-format"] = format
        all["content-type"] = all["content-type"] ?? (isXML ? "application/xml" : "application/json;charset=utf-8")
        if format == "windows" { all["x-wns-type"] = all["x-wns-type"] ?? "wns/toast" }
        let standard = format == "fcmV1" ? #"{"message":{}}"# : isXML ? "<toast/>" : "{}"
        return call("POST", target, authorization: signature(policy), body: payload ?? standard, fields: all)
    }
}
