import Testing

@testable import NotifyBackend

@Suite struct HubTests {
    private let hub = BackendFixture.makeHub()

    private func register(_ id: String, handle: String, tags: [String], platform: String = "gcm") throws {
        try hub.upsert(id: id, platform: platform, handle: handle, tags: tags)
    }

    @Test("A reserved id has the form of the hub's ids") func aReservedIDHasTheFormOfTheHubsIDs() throws {
        let source = Numbers([7_260_336_227_650_468_927 << 1, 4_200_236_381_151_834_034 << 1, 9])
        let hub = NotificationHub(randomNumber: { source.next() })
        #expect(try hub.reserveID() == "7260336227650468927-4200236381151834034-1")
        let shape = /[0-9]{1,20}-[0-9]{1,20}-[0-9]{1,3}/
        for _ in 0..<100 {
            #expect(try self.hub.reserveID().wholeMatch(of: shape) != nil)
        }
        #expect(self.hub.registrations().isEmpty)
    }

    @Test("A notification reaches every matching registration of its service")
    func aNotificationReachesEveryMatchingRegistrationOfItsService() throws {
        try register("1", handle: "H", tags: ["username:bob", "topic:a"])
        try register("2", handle: "H", tags: ["username:bob"], platform: "fcmv1")
        try register("3", handle: "AB12", tags: ["username:bob"], platform: "apns")
        try register("4", handle: "G", tags: ["username:carol"])
        #expect(try hub.send("{}", pns: "fcm", to: "username:bob||topic:a") == 2)
        #expect(hub.inbox(ofHandle: "H").map(\.registration) == ["1", "2"])
        #expect(hub.inbox(ofHandle: "H").map(\.tagsMatched) == [["username:bob", "topic:a"], ["username:bob"]])
        #expect(hub.inbox(ofHandle: "H").map(\.pns) == ["fcm", "fcm"])
        #expect(hub.inbox(ofHandle: "AB12").isEmpty)
        #expect(hub.inbox(ofHandle: "G").isEmpty)
        #expect(try hub.send("{}", pns: "apns", to: "username:bob") == 1)
    }

    @Test("The tag index and a full scan find the same registrations")
    func theTagIndexAndAFullScanFindTheSameRegistrations() throws {
        for number in 0..<50 {
            try register("\(number)", handle: "H\(number)", tags: ["all", "even:\(number % 2)", "t:\(number)"])
        }
        try register("7", handle: "H7", tags: ["moved"])
        try hub.delete(id: "8")
        #expect(try hub.send("{}", pns: "gcm", to: "all") == 48)
        #expect(try hub.send("{}", pns: "gcm", to: "all&&all") == 48)
        #expect(try hub.send("{}", pns: "gcm", to: "even:1||moved") == 25)
        #expect(try hub.send("{}", pns: "gcm", to: "(even:1||moved)&&!t:9") == 24)
        #expect(try hub.send("{}", pns: "gcm", to: "t:7||t:8") == 0)
    }

    @Test("An APNs handle is stored in upper case") func anAPNsHandleIsStoredInUpperCase() throws {
        try register("1", handle: "ab12", tags: ["a"], platform: "apns")
        #expect(hub.registrations().map(\.handle) == ["AB12"])
        try hub.send("{}", pns: "apns", to: "a")
        #expect(hub.inbox(ofHandle: "ab12").count == 1)
        #expect(hub.inbox(ofHandle: "AB12").count == 1)
    }

    @Test(
        "An oversize payload is accepted and dropped",
        arguments: [("apns", 4096), ("gcm", 4096), ("fcmv1", 4096), ("wns", 5120)])
    func anOversizePayloadIsAcceptedAndDropped(_ pns: String, _ limit: Int) throws {
        try register("1", handle: "H", tags: ["a"], platform: pns)
        #expect(try hub.send(String(repeating: "x", count: limit + 1), pns: pns, to: "a") == 0)
        #expect(hub.inbox(ofHandle: "H").isEmpty)
        #expect(try hub.send(String(repeating: "x", count: limit), pns: pns, to: "a") == 1)
        #expect(hub.inbox(ofHandle: "H").count == 1)
    }

    @Test("A message above 64 KiB is rejected") func aMessageAbove64KiBIsRejected() {
        let payload = String(repeating: "x", count: 64 << 10 + 1)
        #expect(throws: HubFailure.badRequest) { try hub.send(payload + "x", pns: "gcm", to: "a") }
    }

    @Test("An expired registration is gone") func losesRegistrations() throws {
        try register("1", handle: "H", tags: ["a"])
        #expect(hub.expire(registration: "1"))
        #expect(!hub.expire(registration: "1"))
        #expect(try hub.send("{}", pns: "gcm", to: "a") == 0)
        #expect(throws: HubFailure.gone) { try register("1", handle: "H", tags: ["a"]) }
        #expect(throws: HubFailure.notFound) { try hub.delete(id: "1") }
        try register("2", handle: "H", tags: ["a"])
    }

    @Test("An injected fault occurs the given number of times", arguments: HubFault.allCases)
    func anInjectedFaultOccursTheGivenNumberOfTimes(_ fault: HubFault) throws {
        try register("1", handle: "H", tags: ["a"])
        hub.inject(fault, times: 2)
        func operate() throws(HubFailure) {
            switch fault {
            case .upsertFails, .upsertBusy, .upsertGone:
                try hub.upsert(id: "1", platform: "gcm", handle: "H", tags: ["a"])
            case .reserveFails: _ = try hub.reserveID()
            case .lookUpFails: _ = try hub.registrations(foundBy: "H", limit: 1)
            case .deleteFails: try hub.delete(id: "1")
            case .sendFails, .sendBusy: try hub.send("{}", pns: "gcm", to: "a")
            case .listBusy: _ = try hub.listedRegistrations()
            }
        }
        #expect(throws: HubFailure.self) { try operate() }
        #expect(throws: HubFailure.self) { try operate() }
        #expect(hub.registrations().count == 1)
        #expect(hub.inbox(ofHandle: "H").isEmpty)
        try operate()
    }

    @Test("An id is resolved as a URL path") func anIDIsResolvedAsAURLPath() throws {
        #expect(try HubAddress(id: "1-2-3") == .registration("1-2-3"))
        #expect(try HubAddress(id: "a/../1-2-3") == .registration("1-2-3"))
        #expect(try HubAddress(id: "..") == .hub)
        #expect(try HubAddress(id: "./..") == .hub)
        for id in ["../..", "../../..", "a/b", "../messages", ".", "", "/"] {
            #expect(throws: HubFailure.notFound) { try HubAddress(id: id) }
        }
    }

    @Test("An id or handle that the hub cannot store is rejected") func anIDOrHandleThatTheHubCannotStoreIsRejected() {
        #expect(throws: HubFailure.badRequest) { try register("..", handle: "H", tags: []) }
        #expect(throws: HubFailure.badRequest) {
            try register(String(repeating: "1", count: 257), handle: "H", tags: [])
        }
        #expect(throws: HubFailure.badRequest) {
            try register("1", handle: String(repeating: "h", count: 4097), tags: [])
        }
        #expect(throws: HubFailure.badRequest) { try register("1", handle: "", tags: []) }
        #expect(hub.registrations().isEmpty)
    }
}
