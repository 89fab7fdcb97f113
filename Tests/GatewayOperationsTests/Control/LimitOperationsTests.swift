import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import Gateway
@testable import GatewayOperations

@Suite("Limit operations")
struct LimitOperationsTests {
    private let journal = MemoryJournal()
    private let limiter: Limiter
    private let operations: ControlOperations
    private let lines = Lines()

    private final class Lines: Sendable {
        let all = Mutex<[ControlOutput]>([])
    }

    init() {
        let limiter = Limiter(
            [
                Limit(name: "pair", per: [.sender, .recipient], count: 1, period: .seconds(60)),
                Limit(name: "team", per: [.group, .pns], count: 1, period: .seconds(60), isShadow: true),
                Limit(name: "login", per: [.address], count: 1, period: .seconds(60)),
            ], clocks: ManualClock().clocks)
        let names = NameRules(suffixes: ["@example.com"])
        operations = .test(
            [
                ShowLimitsOperation(limiter: { limiter }, names: names),
                ResetLimitsOperation(limiter: { limiter }, names: names),
            ], journal: journal)
        self.limiter = limiter
    }

    private func ask(
        _ operation: String, _ arguments: [String: String] = [:], all: Bool = false
    ) async -> (items: [JSONValue], end: ControlError?) {
        lines.all.withLock { $0 = [] }
        var members = arguments.map { JSONValue.Member($0.key, .string($0.value)) }
        if all { members.append(.init("all", .bool(true))) }
        let end = await operations.carryOut(ControlRequest(operation, members), by: .process(uid: 1234)) {
            [lines] output throws(ControlError) in
            lines.all.withLock { $0.append(output) }
        }
        let items = lines.all.withLock(\.self).map { output -> JSONValue in
            if case .item(let item) = output { item } else { .null }
        }
        return (items, end)
    }

    private func send(_ times: Int, from sender: String, to recipient: String) {
        let caller = Identity(
            user: UserName(canonical: sender)!, groups: [GroupName("red")!], authenticator: "test")
        for _ in 0..<times {
            let send = RequestedSend(service: .fcm, recipient: UserName(canonical: recipient)!, text: "")
            _ = try? limiter.admit(caller, at: .documentation, sending: send)
        }
    }

    private func text(_ item: JSONValue) -> String { String(decoding: JSONWriter.bytes(of: item), as: UTF8.self) }

    @Test("`limits show` lists the limited callers, and a selected caller in any case")
    func show() async throws {
        #expect(await ask("limits show").items == [])
        send(2, from: "alice", to: "bob")
        for _ in 0..<2 { _ = try? limiter.admitLogin(from: Peer(address: .v6(0x2001_0DB8_0000_0001, 9), text: "")) }
        let (items, end) = await ask("limits show")
        #expect(end == nil && journal.records.isEmpty)
        #expect(
            items.map(text) == [
                #"{"limit":"login","address":"2001:db8:0:1::/64","left":0,"burst":1,"cost":1,"seconds":60,"shadow":false}"#,
                #"{"limit":"pair","user":"alice","recipient":"bob","left":0,"burst":1,"cost":1,"seconds":60,"shadow":false}"#,
                #"{"limit":"team","group":"red","pns":"fcm","left":0,"burst":1,"cost":1,"seconds":60,"shadow":true}"#,
            ])
        #expect(await ask("limits show", ["limit": "pair"]).items.count == 1)
        let named = await ask("limits show", ["user": "ALICE@example.com", "recipient": "carol"]).items
        #expect(named.map { $0["left"]?.integer } == [1])
        let team = await ask("limits show", ["group": "red", "pns": "GCM"]).items
        #expect(team.map { $0["left"]?.integer } == [0] && team[0]["shadow"] == .bool(true))
    }

    @Test("A reset is recorded with the uid and then takes effect immediately")
    func reset() async throws {
        send(1, from: "alice", to: "bob")
        send(1, from: "alice", to: "carol")
        send(1, from: "eve", to: "bob")
        let pick = ["user": "alice", "recipient": "bob", "limit": "pair"]
        #expect(
            await ask("limits reset", pick).items.map(text) == [#"{"user":"alice","recipient":"bob","reset":1}"#])
        #expect(await ask("limits reset", ["user": "alice"]).items.map(text) == [#"{"user":"alice","reset":1}"#])
        #expect(await ask("limits reset", all: true).items.map(text) == [#"{"reset":2}"#])
        #expect(journal.records.map(\.kind) == [.operator, .operator, .operator])
        #expect(journal.records.map(\.facts?.action) == Array(repeating: .operatorResetLimits, count: 3))
        #expect(journal.records.map(\.facts?.user?.text) == ["alice", "alice", nil])
        #expect(journal.records.map(\.target) == ["limit pair, recipient bob", nil, "all"])
        #expect(journal.records.allSatisfy { $0.requester == .process(uid: 1234) && $0.result == "accepted" })
    }

    @Test("A reset that cannot be recorded or is invalid is not carried out")
    func refused() async throws {
        send(1, from: "alice", to: "bob")
        for arguments in [
            [:], ["limit": "none"], ["user": "a b"], ["group": "a b"], ["address": "here"], ["pns": "smoke"],
            ["all": "x"],
            ["colour": "red"],
        ] as [[String: String]] {
            guard await ask("limits reset", arguments).end != nil else {
                Issue.record("\(arguments) was accepted")
                continue
            }
        }
        guard await ask("limits reset", ["user": "alice"], all: true).end != nil else {
            Issue.record("a reset of all with a user was accepted")
            return
        }
        #expect(journal.records.isEmpty)
        journal.fail(JournalUnavailable("disk full"))
        guard let fault = await ask("limits reset", all: true).end else {
            Issue.record("the reset succeeded without a record")
            return
        }
        #expect(fault.kind == .unavailable)
        #expect(await ask("limits show", ["user": "alice", "recipient": "bob"]).items[0]["left"]?.integer == 0)
    }
}
