import Foundation
import GatewaySupport
import GatewayTesting
import Testing

@Suite("A backend with its own paths and platform names")
struct SingleFilePortTests {
    private static let profile = """
        { from: net6, client: { id-in: [path, query], update-status: { apns: 202 } }, backend: { \
        register-path: /registration, notifications-path: /notifications, id-in: query, id-answer: text, \
        platforms: { apns: ios, fcm: android }, pns: { apns: ios, fcm: android }, \
        payload-frames: { apns: 45, fcm: 37 }, success: [200, 201, 204], gone: [404], idle: 2s } }
        """
    private static let credential =
        "{ user-header: X-Port-User, secret-header: X-Port-Secret, secret: correct-horse }"
    private static let bobs = String(repeating: "B0", count: 32)
    private static let alices = "alices-android-token-01"

    private func run(_ body: (SingleFilePort, GatewayUnderTest) async throws -> Void) async throws {
        try await SingleFilePort.run { port, number in
            try await GatewayUnderTest.run(
                backend: "http://127.0.0.1:\(number)", profile: Self.profile, credential: Self.credential
            ) { try await body(port, $0) }
        }
    }

    @Test("Unmodified clients register, send and unregister")
    func theFourCalls() async throws {
        try await run { port, gateway in
            let client = gateway.client
            #expect(try await client.register("bob", "apns", Self.bobs, tags: ["topic:a"]).status == 202)
            #expect(try await client.register("alice", "gcm", Self.alices).status == 200)
            #expect(
                port.registrations == [
                    "1-4200-1": .init(platform: "ios", handle: Self.bobs, tags: ["topic:a", "username:bob"]),
                    "2-4200-1": .init(platform: "android", handle: Self.alices, tags: ["username:alice"]),
                ])
            let text = "He said \"hi\" – C:\\café"
            for (sender, pns, recipient) in [("alice", "apns", "bob"), ("bob", "fcm", "alice")] {
                let sent = try await client.call(
                    "POST", "/api/notifications?pns=\(pns)&to_tag=\(recipient)", as: sender, body: "\"\(text)\"")
                #expect(sent.status == 200)
            }
            #expect(
                port.inbox(Self.bobs) == [
                    #"{"aps":{"alert":"From alice: He said \"hi\" – C:\\café","sound":"default"}}"#
                ])
            #expect(
                port.inbox(Self.alices) == [
                    #"{"message":{"data":{"text":"From bob: He said \"hi\" – C:\\café"}}}"#
                ])
            #expect(try await client.call("DELETE", "/api/register/1-4200-1", as: "bob").status == 200)
            #expect(try await client.call("DELETE", "/api/register?id=2-4200-1", as: "alice").status == 200)
            #expect(port.registrations.isEmpty)
            #expect(
                port.seen.map { $0.prefix { $0 != "?" } } == [
                    "POST /registration", "PUT /registration", "POST /registration", "PUT /registration",
                    "POST /notifications", "POST /notifications", "DELETE /registration", "DELETE /registration",
                ])
        }
    }

    @Test("Clients may use the platform names of the backend, and the gateway rejects unsupported ones")
    func words() async throws {
        try await run { port, gateway in
            let client = gateway.client
            #expect(try await client.register("bob", "iOS", Self.bobs).status == 202)
            for (pns, status) in [("ios", 200), ("IOS", 200), ("apns", 200), ("wns", 400), ("mpns", 400), ("x", 400)] {
                let sent = try await client.call(
                    "POST", "/api/notifications?pns=\(pns)&to_tag=bob", as: "alice", body: #""hello""#)
                #expect(sent.status == status, "\(pns)")
            }
            #expect(port.inbox(Self.bobs).count == 3)
            let wns = try await client.call(
                "PUT", "/api/register/1-4200-1", as: "bob",
                body: #"{"Platform":"wns","Handle":"https://db5.notify.windows.com/?token=x","Tags":[]}"#)
            #expect(wns.problem == "unknown-platform")
        }
    }

    @Test("The gateway recreates a registration on status 404, and the payload frames bound the message length")
    func goneAndLimits() async throws {
        try await run { port, gateway in
            let client = gateway.client
            #expect(try await client.register("bob", "apns", Self.bobs).status == 202)
            port.forget()
            let again = try await client.call(
                "PUT", "/api/register/1-4200-1", as: "bob",
                body: #"{"Platform":"apns","Handle":"\#(Self.bobs)","Tags":[]}"#)
            #expect(again.status == 202)
            #expect(port.registrations.values.map(\.handle) == [Self.bobs])
            try await gateway.record { $0["result"] as? String == "healed" }
            let longest = 4096 - 45 - "alice".utf8.count
            for (length, status) in [(longest, 200), (longest + 1, 413)] {
                let sent = try await client.call(
                    "POST", "/api/notifications?pns=apns&to_tag=bob", as: "alice",
                    body: "\"\(String(repeating: "x", count: length))\"")
                #expect(sent.status == status)
            }
            #expect(port.inbox(Self.bobs).map(\.utf8.count) == [4096])
        }
    }
}
