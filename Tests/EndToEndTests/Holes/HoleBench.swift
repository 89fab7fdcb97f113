import Foundation
import GatewayTesting
import NotifyBackend
import Testing

/// A gateway and the backend behind it, so that each hole is shown twice: open where the backend is asked directly, closed where
/// the gateway is.
struct HoleBench {
    static let bobs = String(repeating: "B0", count: 32)
    static let eves = String(repeating: "EE", count: 32)
    static let channel = "https://db5.notify.windows.com/?token=bobs"

    let gateway: GatewayUnderTest
    let direct: RawClient
    let hub: NotificationHub
    let flavor: BackendFlavor

    /// Runs the body with bob's phone registered through the gateway.
    static func run(_ flavor: BackendFlavor, _ body: (HoleBench) async throws -> Void) async throws {
        let hub = NotificationHub()
        try await GatewayUnderTest.run(flavor, hub: hub) { gateway, direct in
            #expect(try await gateway.client.register("bob", "apns", bobs).status == 200)
            try await body(HoleBench(gateway: gateway, direct: direct, hub: hub, flavor: flavor))
        }
    }

    /// What arrived at a handle since the last call of this function for it.
    func arrived(at handle: String, after count: Int = 0) -> [String] {
        hub.inbox(ofHandle: handle).dropFirst(count).map(\.payload)
    }

    static func send(to recipient: String = "bob", pns: String = "apns") -> String {
        "/api/notifications?pns=\(pns)&to_tag=\(recipient)"
    }

    /// Where a backend of the flavour is told an id.
    func target(id: String) -> String { flavor == .core ? "/api/register?id=\(id)" : "/api/register/\(id)" }

    /// A registration's body.
    static func registration(_ handle: String, tags: String = "[]") -> String {
        #"{"Platform":"apns","Handle":"\#(handle)","Tags":\#(tags)}"#
    }
}
