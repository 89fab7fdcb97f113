import Foundation
import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import NotifyBackend

@Suite("Scheduled sends through a hub") struct ScheduledSendTests {
    private static let notify = "POST /api/notifications?pns=apns&to_tag=bob"

    /// Returns the time after the delay as a parameter.
    private func time(_ setup: EmbeddedHubSetup, after seconds: Int64) -> String {
        "&at=\(setup.clock.clocks.wall().adding(seconds * 1_000_000))"
    }

    @Test("A scheduled send is recorded with its time, delivered then, and not before")
    func scheduledSend() async throws {
        let setup = try EmbeddedHubSetup()
        #expect(try await setup.register("apns", id: "1-2-3").status == 200)
        let sent = try await setup.call(Self.notify + time(setup, after: 3600), as: "alice", "\"later\"")
        #expect(sent.status == 200 && sent.text.isEmpty)
        #expect(sent.values("Location").first?.hasPrefix("/auth/scheduled/") == true)
        let handle = try #require(EmbeddedHubSetup.handles["apns"])
        setup.clock.advance(by: .seconds(3599))
        setup.hub.deliverDue()
        #expect(setup.hub.inbox(ofHandle: handle).isEmpty)
        setup.clock.advance(by: .seconds(1))
        setup.hub.deliverDue()
        setup.hub.deliverDue()
        let inbox = setup.hub.inbox(ofHandle: handle)
        #expect(inbox.map { DevicePayload.text(in: $0.payload) } == ["From alice: later"])
        let intent = try #require(setup.journal.records(.intent).last)
        #expect(intent.facts?.scheduled != nil && intent.facts?.action == .send)
        #expect(setup.journal.records(.outcome).last?.notification?.isEmpty == false)
    }

    @Test("A sender cancels a scheduled send of its own once, and nobody else does")
    func cancellation() async throws {
        let setup = try EmbeddedHubSetup()
        #expect(try await setup.register("apns", id: "1-2-3").status == 200)
        let sent = try await setup.call(Self.notify + time(setup, after: 3600), as: "alice", "\"later\"")
        let place = try #require(sent.values("Location").first)
        let requests = setup.requests.withLock { $0.count }
        for (path, user) in [
            (place, "bob"), (place, "eve"), (String(place.dropLast()) + "x", "alice"), ("/auth/scheduled/x", "alice"),
            ("/auth/scheduled/.", "alice"), (place.replacing("_", with: "-"), "alice"), (place + "00", "alice"),
        ] {
            let status = try await setup.call("DELETE \(path)", as: user).status
            #expect(status == (path.hasSuffix("/.") ? 400 : 403), "\(path) \(user) \(status)")
        }
        #expect(setup.requests.withLock { $0.count } == requests)
        #expect(try await setup.call("DELETE \(place)", as: "alice").status == 204)
        let record = try #require(setup.journal.records(.outcome).last)
        #expect(record.facts?.action == .sendCancel && record.result == "accepted" && record.notification != nil)
        #expect(setup.journal.records(.intent).last?.notification == record.notification)
        setup.clock.advance(by: .seconds(3600))
        setup.hub.deliverDue()
        #expect(setup.hub.inbox(ofHandle: try #require(EmbeddedHubSetup.handles["apns"])).isEmpty)
        #expect(try await setup.call("DELETE \(place)", as: "alice").status == 403)
    }

    @Test(
        "A time in the past, more than seven days ahead, or malformed is rejected without a record",
        arguments: [-1, 0, 604_801])
    func scheduledTimes(_ delay: Int64) async throws {
        let setup = try EmbeddedHubSetup()
        let sent = try await setup.call(Self.notify + time(setup, after: delay), as: "alice", "\"later\"")
        #expect(sent.status == 400 && setup.journal.records(.intent).isEmpty)
        #expect(try await setup.call(Self.notify + "&at=tomorrow", as: "alice", "\"later\"").status == 400)
        #expect(
            try await setup.call(Self.notify + time(setup, after: 604_800), as: "alice", "\"later\"").status == 200)
    }

    @Test("A scheduled send is repeated by its idempotency key, and its response names the same reference")
    func idempotentSchedule() async throws {
        let setup = try EmbeddedHubSetup()
        let target = Self.notify + time(setup, after: 60)
        let first = try await setup.call(target, as: "alice", "\"later\"", key: "k-1")
        let second = try await setup.call(target, as: "alice", "\"later\"", key: "k-1")
        #expect(first.status == 200 && second.values("Location") == first.values("Location"))
        #expect(setup.requests.withLock { $0.count } == 1)
    }

    @Test(
        "Behind a notify-users backend nothing is scheduled: the parameter is unknown, and there is nothing to cancel")
    func backendsScheduleNothing() async throws {
        let gateway = TestGateway()
        let credential = Data("alice:\(TestGateway.password(of: "alice"))".utf8).base64EncodedString()
        for (line, body, status) in [
            (Self.notify + "&at=2026-11-24T07:00:00Z", "\"x\"", 400), ("DELETE /auth/scheduled/x.y", "", 404),
        ] {
            let response = await gateway.serve(
                ReceivedRequest(
                    line, authorization: .text("Basic \(credential)"),
                    contentType: body.isEmpty ? .absent : .text("application/json"), body: Array(body.utf8)))
            #expect(response.status == status)
        }
        #expect(gateway.backend.requests.isEmpty)
    }
}
