import Testing

@testable import NotifyBackend

/// The holes that the gateway closes are open here.
@Suite struct HoleTests {
    @Test(arguments: BackendFlavor.allCases)
    func messagesInjectJSON(_ flavor: BackendFlavor) {
        let bench = TestBench(flavor)
        bench.register("bob", id: "1", platform: "apns", handle: "AB")
        bench.send(to: "bob", pns: "apns", body: "\"x\\\"},\\\"evil\\\":{\\\"a\\\":\\\"\"")
        #expect(bench.payloads("AB") == ["{\"aps\":{\"alert\":\"From alice: x\"},\"evil\":{\"a\":\"\"}}"])
    }

    @Test(arguments: BackendFlavor.allCases)
    func messagesInjectXML(_ flavor: BackendFlavor) {
        let bench = TestBench(flavor)
        bench.register("bob", id: "1", platform: "wns", handle: "https://a.example/")
        bench.send(to: "bob", pns: "wns", body: "\"</text><text id='2'>evil\"")
        #expect(
            bench.payloads("https://a.example/").first?.contains("From alice: </text><text id='2'>evil</text>") == true
        )
    }

    @Test func theUserNameInjectsToo() {
        // The name goes into the expression first, which takes some of the attacker's characters only.
        let bench = TestBench(.classic)
        bench.register("bob", id: "1")
        #expect(bench.send(from: "eve||username", to: "bob").status == 200)
        #expect(bench.payloads("H-1").first?.contains("From eve||username: hi") == true)
        #expect(bench.send(from: "\"},\"x\"", to: "bob").status == 500)
    }

    @Test(arguments: BackendFlavor.allCases)
    func emptyUsersAndLongCredentialsPass(_ flavor: BackendFlavor) {
        let bench = TestBench(flavor)
        #expect(bench.register("", id: "1").status == 200)
        #expect(bench.hub.registrations().first?.tags == ["username:"])
        let authorization = TestBench.basic("alice:alice:x")
        #expect(bench.call("POST", "/api/register", authorization: authorization).status == 200)
    }

    @Test(arguments: BackendFlavor.allCases)
    func recipientsAreExpressions(_ flavor: BackendFlavor) {
        let bench = TestBench(flavor)
        for (id, user) in [("1", "bob"), ("2", "carol"), ("3", "dave")] { bench.register(user, id: id) }
        #expect(bench.send(to: "bob%7C%7Cusername:carol").status == 200)
        #expect(["H-1", "H-2", "H-3"].map { bench.payloads($0).count } == [1, 1, 0])
        #expect(bench.send(to: "x%7C%7C!y").status == 200)
        #expect(["H-1", "H-2", "H-3"].map { bench.payloads($0).count } == [2, 2, 1])
        for tag in ["bob)", "bob%7C%7C", "b%20ob", "bob%27", "%28bob", "b%00"] {
            #expect(bench.send(to: tag).status == 500, "\(tag)")
        }
    }

    @Test(arguments: BackendFlavor.allCases)
    func anyTagIsTaken(_ flavor: BackendFlavor) {
        let bench = TestBench(flavor)
        bench.register("eve", id: "1", tags: ["from:alice"])
        bench.register("eve", id: "2", tags: ["username:bob"])
        bench.register("eve", id: "3", tags: ["x,username:bob"])
        bench.register("eve", id: "4", tags: ["$UserId:{bob}", "$InstallationId:{1}"])
        bench.register("eve", id: "5", tags: ["harmless"])
        #expect(bench.send(to: "bob").status == 200)
        #expect((1...5).map { bench.payloads("H-\($0)").count } == [1, 1, 1, 0, 0])
        #expect(bench.hub.registrations()[2].tags == ["x", "username:bob", "username:eve"])
        #expect(bench.hub.registrations()[3].tags.contains("$UserId:{bob}"))
    }

    @Test(arguments: BackendFlavor.allCases)
    func anyIDIsTaken(_ flavor: BackendFlavor) {
        let bench = TestBench(flavor)
        bench.register("bob", id: "1-2-3", handle: "bobs")
        #expect(bench.register("eve", id: "1-2-3", handle: "eves").status == 200)
        #expect(bench.hub.registrations().map(\.handle) == ["eves"])
        #expect(bench.register("eve", id: "invented").status == 200)
        bench.register("bob", id: "4-5-6")
        let authorization = TestBench.basic("eve:eve")
        #expect(bench.call("DELETE", bench.target(id: "4-5-6"), authorization: authorization).status == 200)
        #expect(bench.hub.registrations().map(\.id) == ["1-2-3", "invented"])
    }

    @Test(arguments: BackendFlavor.allCases)
    func aQuoteInAHandleDeletesOthers(_ flavor: BackendFlavor) {
        let bench = TestBench(flavor)
        for number in 0..<120 { bench.register("user\(number)", id: "\(number)") }
        let handle = "x%27%20or%20channeluri%20ne%20%27"
        #expect(bench.call("POST", "/api/register?handle=" + handle).status == 200)
        // 100 are found, the first is kept.
        #expect(bench.hub.registrations().count == 21)
        #expect(bench.call("POST", "/api/register?handle=%27").status == 500)
    }

    @Test(arguments: BackendFlavor.allCases)
    func twoDotsInThePathAreResolvedBefore(_ flavor: BackendFlavor) {
        let bench = TestBench(flavor)
        bench.register("bob", id: "1")
        for target in ["/api/register/..", "/api/register/%2e%2E", "/../..", "/api/../.."] {
            #expect(bench.call("DELETE", target).status == 404)
        }
        #expect(bench.call("POST", "/x/../api/./register").status == 200)
        #expect(bench.hub.registrations().count == 1)
    }

    @Test func twoDotsAreTheHub() {
        for flavor in [BackendFlavor.classic, .core] {
            let bench = TestBench(flavor)
            bench.register("bob", id: "1")
            bench.register("carol", id: "2")
            #expect(bench.call("DELETE", "/api/register?id=..").status == 200)
            #expect(bench.hub.registrations().isEmpty)
            #expect(bench.register("bob", id: "1").status == 200)
            #expect(bench.send(to: "bob").status == 200)
            #expect(bench.payloads("H-1").count == 1)
        }
    }
}
