internal import GatewayCore
public import GatewaySupport
public import NIOCore

/// A right of a key of a notification hub.
public enum HubRight: String, Sendable, Hashable, CaseIterable {
    /// Registrations of devices.
    case listen = "Listen"
    /// Notifications.
    case send = "Send"
    /// Everything, including lists of all registrations. The gateway does not need it.
    case manage = "Manage"
}

/// Requests that show which rights the key of a hub has. They change nothing at the hub and reach no device.
public struct HubRightsTest: Sendable {
    /// What a response says of a right.
    public enum Answer: Sendable, Hashable {
        /// The key has the right.
        case held
        /// The key lacks the right, or the hub does not accept the key at all.
        case missing
        /// The hub does not exist.
        case noHub
        /// The response says nothing of the right, for example because the hub is too busy.
        case unclear
    }

    private let codec: HubCodec

    /// Creates the requests to a hub.
    public init(_ settings: HubSettings, clocks: Clocks) { codec = HubCodec(settings, clocks: clocks) }

    /// Returns a request that the hub carries out or finds malformed if the key has the right.
    public func request(for right: HubRight) -> ByteBuffer {
        switch right {
        case .listen:
            // No device has this token.
            codec.request(
                "GET", path: "/registrations",
                query: "&$filter=DeviceToken%20eq%20%2700000000000000000000000000000000%27&$top=1", body: nil
            ) { _ in }
        case .send:
            // Without a format, the hub delivers nothing and responds with 400 after it has checked the key.
            codec.request("POST", path: "/messages", body: []) { _ in }
        case .manage: codec.request("GET", path: "/registrations", query: "&$top=1", body: nil) { _ in }
        }
    }

    /// Returns what the response to `request(for:)` says of the right.
    public static func answer(of response: BackendResponse, to right: HubRight) -> Answer {
        switch response.status {
        case 401: .missing
        case 403: HubCodec.isQuotaExceeded(response) ? .unclear : .missing
        case 404: .noHub
        case 400 where right == .send: .held
        case 200..<300: .held
        default: .unclear
        }
    }
}
