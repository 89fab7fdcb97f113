import Testing

@testable import NotifyBackend

@Suite struct HubBoundsTests {
    @Test("A full hub drops the oldest registration") func aFullHubDropsTheOldestRegistration() throws {
        let hub = BackendFixture.makeHub(limits: HubLimits(registrations: 3))
        for id in ["1", "2", "3"] { try hub.upsert(id: id, platform: "gcm", handle: "H" + id, tags: ["a"]) }
        try hub.upsert(id: "1", platform: "gcm", handle: "H1", tags: ["a", "b"])
        try hub.upsert(id: "4", platform: "gcm", handle: "H4", tags: ["a"])
        #expect(hub.registrations().map(\.id) == ["2", "3", "4"])
        #expect(try hub.send("{}", pns: "gcm", to: "a||b") == 3)
        #expect(try hub.registrations(foundBy: "H1", limit: 9).isEmpty)
    }

    @Test("A full hub drops the oldest notifications and inboxes")
    func aFullHubDropsTheOldestNotificationsAndInboxes() throws {
        let hub = BackendFixture.makeHub(limits: HubLimits(inboxes: 2, notificationsPerInbox: 3))
        for id in ["1", "2", "3"] { try hub.upsert(id: id, platform: "gcm", handle: "H" + id, tags: ["t:" + id]) }
        for number in 0..<5 { try hub.send("\(number)", pns: "gcm", to: "t:1") }
        #expect(hub.inbox(ofHandle: "H1").map(\.payload) == ["2", "3", "4"])
        try hub.send("x", pns: "gcm", to: "t:2||t:3")
        #expect(hub.inbox(ofHandle: "H1").isEmpty)
        #expect(hub.inbox(ofHandle: "H3").count == 1)
    }

    @Test("The total size of all inboxes is bounded") func theTotalSizeOfAllInboxesIsBounded() throws {
        let hub = BackendFixture.makeHub(limits: HubLimits(notificationsPerInbox: 2, inboxBytes: 250))
        for id in ["1", "2", "3"] { try hub.upsert(id: id, platform: "gcm", handle: "H" + id, tags: ["t:" + id]) }
        let payload = String(repeating: "x", count: 50)
        // A dropped notification must not count towards the total.
        for _ in 0..<20 { try hub.send(payload, pns: "gcm", to: "t:1") }
        for _ in 0..<2 { try hub.send(payload, pns: "gcm", to: "t:2") }
        #expect(["H1", "H2"].map { hub.inbox(ofHandle: $0).count } == [2, 2])
        for _ in 0..<2 { try hub.send(payload, pns: "gcm", to: "t:3") }
        #expect(["H1", "H2", "H3"].map { hub.inbox(ofHandle: $0).count } == [0, 2, 2])
    }

    @Test("A bounded table keeps its order through removals") func aBoundedTableKeepsItsOrderThroughRemovals() {
        var table = BoundedTable<Int>(capacity: 100)
        for number in 0..<100 { #expect(table.set(number, for: "\(number)") == nil) }
        for round in 0..<1000 {
            let key = "\(round % 100)"
            #expect(table.remove(key) != nil)
            #expect(table.set(round, for: key) == nil)
        }
        #expect(table.count == 100)
        #expect(table.elements.map(\.value) == Array(900..<1000))
        #expect(table.set(-1, for: "new")?.value == 900)
        #expect(table.removeOldest()?.value == 901)
        #expect(table.remove("absent") == nil)
    }
}
