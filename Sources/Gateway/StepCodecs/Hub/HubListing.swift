public import GatewaySupport
public import NIOCore

/// The requests that list all registrations of a hub, page by page. They need a key with the right Manage.
public struct HubListing: Sendable {
    private let codec: HubCodec

    /// Creates the requests to a hub.
    public init(_ settings: HubSettings, clocks: Clocks) { codec = HubCodec(settings, clocks: clocks) }

    /// Returns the request for a page of at most 100 registrations.
    ///
    /// - Parameter continuation: The token of the page before; nil for the first page.
    public func request(after continuation: String?) -> ByteBuffer {
        codec.request("GET", path: "/registrations", query: "&$top=100", continuation: continuation, body: nil) { _ in }
    }

    /// Returns what the hub's response says, for an operator.
    public static func detail(of response: BackendResponse) -> String { HubCodec.detail(of: response) }
}
