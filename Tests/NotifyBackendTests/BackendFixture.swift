import Foundation

@testable import NotifyBackend

/// A backend without a socket, its hub, and functions that call it.
struct BackendFixture {
    let hub: NotificationHub
    let api: NotifyUsersAPI

    init(_ flavor: BackendFlavor, hub: NotificationHub = BackendFixture.makeHub()) {
        self.hub = hub
        api = NotifyUsersAPI(flavor: flavor, hub: hub)
    }

    /// A hub whose clock stands still.
    static func makeHub(limits: HubLimits = HubLimits()) -> NotificationHub {
        NotificationHub(limits: limits, now: { Date(timeIntervalSince1970: 1_700_000_000) })
    }

    static func basic(_ credential: String) -> String {
        "Basic " + Data(credential.utf8).base64EncodedString()
    }

    func call(
        _ method: String,
        _ target: String,
        authorization: String? = basic("alice:alice"),
        contentType: String? = "application/json",
        accept: String? = nil,
        body: [UInt8]
    ) -> BackendResponse {
        api.response(
            to: BackendRequest(
                method: method,
                target: target,
                host: "localhost",
                authorization: authorization,
                contentType: contentType,
                accept: accept,
                body: body
            )
        )
    }

    func call(
        _ method: String,
        _ target: String,
        authorization: String? = basic("alice:alice"),
        contentType: String? = "application/json",
        accept: String? = nil,
        body: String = ""
    ) -> BackendResponse {
        call(
            method,
            target,
            authorization: authorization,
            contentType: contentType,
            accept: accept,
            body: Array(body.utf8)
        )
    }

    /// The flavor's platform identifier for Google's service.
    var google: String {
        switch api.flavor {
        case .classic: "gcm"
        case .core: "fcm"
        case .net6: "fcmv1"
        }
    }

    /// The target of an upsert or delete of an id.
    func target(id: String) -> String {
        api.flavor == .core ? "/api/register?id=" + id : "/api/register/" + id
    }

    /// Registers a device of a user, by default for Google's service and with the handle `H-<id>`.
    @discardableResult
    func register(
        _ user: String,
        id: String = "1-1-1",
        platform: String? = nil,
        handle: String? = nil,
        tags: [String] = []
    ) -> BackendResponse {
        let tagList = tags.map(BackendResponse.quoted).joined(separator: ",")
        let body =
            "{\"Platform\":\"\(platform ?? google)\",\"Handle\":\"\(handle ?? "H-" + id)\",\"Tags\":[\(tagList)]}"
        return call("PUT", target(id: id), authorization: Self.basic("\(user):\(user)"), body: body)
    }

    @discardableResult
    func send(
        from user: String = "alice", to tag: String, pns: String? = nil, body: String = "\"hi\""
    ) -> BackendResponse {
        let target = "/api/notifications?pns=\(pns ?? google)&to_tag=\(tag)"
        return call("POST", target, authorization: Self.basic("\(user):\(user)"), body: body)
    }

    func payloads(_ handle: String) -> [String] {
        hub.inbox(ofHandle: handle).map(\.payload)
    }
}
