import GatewayCore
import GatewayStore
import GatewaySupport
import Testing

@testable import GatewayConsole

@Suite("Live calls")
struct LiveCallTests {
    private static let intent =
        #"{"seq":1,"kind":"intent","action":"send","user":"alice","recipient":"bob","pns":"apns"}"#
    private static let outcome =
        #"{"seq":2,"kind":"outcome","action":"send","user":"alice","recipient":"bob","result":"accepted"}"#
    private static let rejectedSend =
        #"{"seq":3,"kind":"refusal","action":"send","user":"mallory","recipient":"bob","result":"not-permitted"}"#
    private static let rejectedLogin = #"{"seq":4,"kind":"refusal","attempted":"<b>","result":"login-failed"}"#

    private static func calls(_ records: [String]) -> [RecentCalls.Call]? {
        RecentCalls.calls(Array((records.joined(separator: "\n") + "\n").utf8))
    }

    private static func filter(_ query: [String: String]) -> LiveFilter { LiveFilter(query, NameRules()) }

    /// Returns the records of which a page with the query learns, each recorded after the one before.
    private static func learned(_ records: [String], _ query: [String: String]) -> [Bool] {
        var recent = RecentCalls()
        recent.restart()
        var position = recent.changes(after: 0, matching: filter(query)).position
        return records.map { record in
            recent.add(calls([record]))
            let found = recent.changes(after: position, matching: filter(query))
            position = found.position
            return found.isChanged
        }
    }

    @Test("The list of sends learns of every record of a send, a rejected one too; that of refusals of all rejections")
    func kinds() {
        let records = [
            Self.intent, Self.outcome, Self.rejectedSend, Self.rejectedLogin, "no JSON",
            #"{"seq":5,"kind":"outcome","action":"register-update"}"#,
        ]
        #expect(Self.learned(records, ["kind": "sends"]) == [true, true, true, false, false, false])
        #expect(Self.learned(records, ["kind": "refusals"]) == [false, false, true, true, false, false])
        #expect(Self.learned(records, ["kind": "all"]) == [true, true, true, true, false, false])
        #expect(Self.learned(records, [:]) == [false, false, false, false, false, false])
    }

    @Test("A list with filters learns only of its calls, and of results that take a call out of it")
    func filters() {
        let records = [Self.intent, Self.outcome, Self.rejectedSend]
        for (query, learned) in [
            (["from": "Alice", "to": "bob"], [true, true, false]), (["from": "bob"], [false, false, false]),
            (["platform": "apns"], [true, false, false]), (["to": "bob"], [true, true, true]),
            (["result": "pending"], [true, true, true]), (["user": "mallory"], [false, false, true]),
        ] {
            #expect(Self.learned(records, query.merging(["kind": "sends"]) { $1 }) == learned, "\(query)")
        }
    }

    @Test("Names are those of the list")
    func names() throws {
        let call = try #require(Self.calls([Self.outcome.replacing("bob", with: "zo_xc3_xab")])?.first)
        for name in ["zo\u{EB}", "zo_xc3_xab"] {
            let filter = LiveFilter(["kind": "sends", "to": name], NameRules(escaping: .hex))
            #expect(filter.matches(call), "\(name)")
        }
    }

    @Test("Of more calls than are looked at, every list learns")
    func manyCalls() {
        let many = (0..<1000).map { #"{"seq":\#($0),"kind":"outcome","action":"send","user":"u\#($0)"}"# }
        #expect(Self.calls(many) == nil && Self.calls(Array(many.prefix(RecentCalls.maximumCalls)))?.count == 50)
        var recent = RecentCalls()
        recent.restart()
        let zoe = Self.filter(["kind": "sends", "from": "zoe"])
        let position = recent.changes(after: 0, matching: zoe).position
        recent.add(Self.calls(many))
        #expect(recent.changes(after: position, matching: zoe).isChanged)
        #expect(!recent.changes(after: position, matching: Self.filter([:])).isChanged)
    }

    @Test("A page that asks too late, for the first time, or after nothing was read for a while, learns of a change")
    func gaps() {
        var recent = RecentCalls()
        recent.restart()
        let bob = Self.filter(["kind": "sends", "from": "bob"])
        let (isChanged, first) = recent.changes(after: 0, matching: bob)
        #expect(isChanged)
        for _ in 0..<RecentCalls.maximumBatches { recent.add(Self.calls([Self.outcome])) }
        #expect(!recent.changes(after: first, matching: bob).isChanged)
        recent.add(Self.calls([Self.outcome]))
        let (isLate, second) = recent.changes(after: first, matching: bob)
        #expect(isLate && !recent.changes(after: second, matching: bob).isChanged)
        recent.restart()
        let (isRestarted, third) = recent.changes(after: second, matching: bob)
        #expect(isRestarted && !recent.changes(after: third, matching: bob).isChanged)
        #expect(recent.changes(after: third + 100, matching: bob).isChanged)
    }
}
