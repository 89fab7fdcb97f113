import Testing

@testable import NotifyBackend

@Suite struct InboxStreamTests {
    private let hub = BackendFixture.makeHub(limits: HubLimits(subscribers: 2))

    private func payload(_ event: InboxEvent?) -> String? {
        guard case .delivered(let notification)? = event else { return nil }
        return notification.payload
    }

    @Test("A stream starts with the stored notifications and continues with new ones")
    func aStreamStartsWithTheStoredNotifications() async throws {
        try hub.upsert(id: "1", platform: "apns", handle: "ab", tags: ["a"])
        try hub.upsert(id: "2", platform: "gcm", handle: "other", tags: ["a", "b"])
        try hub.send("1", pns: "apns", to: "a")
        let stream = try #require(hub.subscribe(toHandle: "AB"))
        try hub.send("2", pns: "apns", to: "a")
        try hub.send("not for it", pns: "gcm", to: "b")
        hub.sendHeartbeats()
        var events = stream.makeAsyncIterator()
        #expect(payload(await events.next()) == "1")
        #expect(payload(await events.next()) == "2")
        #expect(await events.next() == .heartbeat)
    }

    @Test("The number of subscribers is bounded, and a closed stream is released")
    func theNumberOfSubscribersIsBoundedAndAClosedStreamIsReleased() throws {
        var open = [hub.subscribe(toHandle: "H"), hub.subscribe(toHandle: "H")]
        #expect(open.allSatisfy { $0 != nil })
        #expect(hub.subscribe(toHandle: "other") == nil)
        open.removeLast()
        #expect(hub.subscriberCount == 1)
        #expect(hub.subscribe(toHandle: "other") != nil)
        open.removeAll()
        #expect(hub.subscriberCount == 0)
    }

    @Test("A reader that lags behind is disconnected") func aReaderThatLagsBehindIsDisconnected() async throws {
        try hub.upsert(id: "1", platform: "gcm", handle: "H", tags: ["a"])
        let stream = try #require(hub.subscribe(toHandle: "H"))
        for number in 0...HubState.streamBuffer { try hub.send("\(number)", pns: "gcm", to: "a") }
        #expect(hub.subscriberCount == 0)
        var received = 0
        for await _ in stream { received += 1 }
        #expect(received == HubState.streamBuffer)
    }

    @Test("A payload in an event stays on one line") func aPayloadInAnEventStaysOnOneLine() throws {
        try hub.upsert(id: "1", platform: "gcm", handle: "H", tags: ["a"])
        try hub.send("a\nb\r\n\ndata: forged", pns: "gcm", to: "a")
        let notification = try #require(hub.inbox(ofHandle: "H").first)
        let text = InboxEventStream.text(of: .delivered(notification))
        #expect(text.split(separator: "\n", omittingEmptySubsequences: false).count == 5)
        #expect(!text.contains("\r"))
        #expect(InboxEventStream.text(of: .heartbeat) == ": heartbeat\n\n")
    }
}
