import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("The endpoint for received notifications")
struct ReceivedNotificationTests {
    private static func ask(_ query: String = "", as user: String = "bob") -> ReceivedRequest {
        ReceivedRequest("GET /auth/notifications-received\(query)", as: user)
    }

    private static let notifications = [
        ReceivedNotification(
            sender: UserName(canonical: "carol")!, time: WallTime(seconds: 1_795_000_000), service: .fcm),
        ReceivedNotification(
            sender: UserName(canonical: "alice")!, time: WallTime(seconds: 1_794_000_000), service: .apns),
    ]

    @Test(
        "The caller's notifications are returned with sender, time and platform, without a backend request or a record")
    func answers() async throws {
        let gateway = TestGateway()
        gateway.history.setNotifications(try #require(UserName(canonical: "bob")), Self.notifications)
        let response = await gateway.serve(Self.ask())
        #expect(response.status == 200)
        #expect(
            response.text
                == #"{"notifications":[{"from":"carol","at":"2026-11-18T11:06:40.000000Z","platform":"fcm"},"#
                + #"{"from":"alice","at":"2026-11-06T21:20:00.000000Z","platform":"apns"}]}"#)
        #expect(response.values("Cache-Control") == ["no-store"])
        #expect(gateway.timeline.words.isEmpty)
        #expect(await gateway.serve(Self.ask(as: "eve")).text == #"{"notifications":[]}"#)
        #expect(gateway.history.queries.map(\.user.text) == ["bob", "eve"])
        #expect(gateway.history.queries.map(\.limit) == [100, 100])
    }

    @Test("An invalid since or limit is rejected")
    func query() async throws {
        let gateway = TestGateway()
        #expect(await gateway.serve(Self.ask("?since=2026-11-18T11:06:40Z&limit=7")).status == 200)
        let question = try #require(gateway.history.queries.first)
        #expect(question.since == WallTime(seconds: 1_795_000_000))
        #expect(question.limit == 7)
        for bad in [
            "?limit=0", "?limit=101", "?limit=-1", "?limit=", "?limit=1e1", "?limit=0001", "?since=yesterday",
            "?since=",
            "?user=alice", "?limit=1&limit=2", "?limit=%D9%A1",
        ] {
            #expect(await gateway.serve(Self.ask(bad)).code == .malformedRequest, "\(bad)")
        }
        #expect(gateway.history.queries.count == 1)
        #expect(await gateway.serve(ReceivedRequest("GET /auth/notifications-received")).code == .credentialsMissing)
    }

    @Test("A user may query ten times a minute, and an unavailable history gets 503")
    func bounds() async throws {
        let gateway = TestGateway()
        for _ in 0..<10 { #expect(await gateway.serve(Self.ask()).status == 200) }
        let refused = await gateway.serve(Self.ask())
        #expect(refused.code == .rateLimited)
        #expect(refused.values("Retry-After") == ["6"])
        #expect(await gateway.serve(Self.ask(as: "carol")).status == 200)
        gateway.clock.advance(by: .seconds(6))
        gateway.history.fail(HistoryUnavailable("being read, s3ntinel"))
        let unavailable = await gateway.serve(Self.ask())
        #expect(unavailable.code == .journalUnavailable)
        #expect(unavailable.values("Retry-After") == ["5"])
        #expect(!unavailable.text.contains("s3ntinel"))
    }
}
