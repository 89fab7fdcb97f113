import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import Gateway
@testable import GatewayOperations

@Suite("Ban operations")
struct BanOperationsTests {
    private let clock = ManualClock()
    private let journal = MemoryJournal()
    private let throttle: LoginThrottle
    private let operations: ControlOperations
    private let lines = Lines()

    private final class Lines: Sendable {
        let all = Mutex<[ControlOutput]>([])
    }

    init() {
        throttle = LoginThrottle(clocks: clock.clocks)
        let names = NameRules(suffixes: ["@example.com"])
        operations = .test(
            [ListBansOperation(throttle: throttle), LiftBansOperation(throttle: throttle, names: names), Recorded()],
            journal: journal)
    }

    private func ask(
        _ operation: String, _ arguments: [JSONValue.Member] = []
    ) async -> (items: [JSONValue], end: ControlError?) {
        lines.all.withLock { $0 = [] }
        let end = await operations.carryOut(ControlRequest(operation, arguments), by: .process(uid: 1234)) {
            [lines] output throws(ControlError) in
            lines.all.withLock { $0.append(output) }
        }
        let items = lines.all.withLock(\.self).map { output -> JSONValue in
            if case .item(let item) = output { item } else { .null }
        }
        return (items, end)
    }

    /// Bans a user at an address by ten failed logins.
    private func ban(_ user: String, from address: Peer.Address) throws {
        for _ in 0..<10 {
            _ = try throttle.admit(UserName(canonical: user), from: Peer(address: address, text: "test"))
        }
    }

    @Test("The list contains user, address and remaining time of each ban")
    func list() async throws {
        #expect(await ask("bans list").items == [])
        try ban("alice", from: .v4(0xC000_0201))
        try ban("bob", from: .v4(0xC000_0201))
        try ban("carol", from: .v6(0x2001_0DB8_0000_0001, 99))
        let (items, end) = await ask("bans list")
        #expect(end == nil)
        #expect(
            Set(items.map { "\($0["user"]?.string ?? "-") \($0["address"]?.string ?? "-")" }) == [
                "alice 192.0.2.1", "bob 192.0.2.1", "- 192.0.2.1", "carol 2001:db8:0:1::/64",
            ])
        #expect(items.allSatisfy { (1...30).contains($0["seconds"]?.integer ?? 0) })
        #expect(journal.records.isEmpty)
    }

    @Test("A lift is recorded with the uid and then takes effect immediately")
    func lift() async throws {
        try ban("alice", from: .v4(0xC000_0201))
        try ban("bob", from: .v6(0x2001_0DB8_0000_0001, 99))
        let byUser = await ask("bans lift", [.init("user", .string("Alice@Example.COM"))])
        #expect(byUser.items == [.object([.init("user", .string("alice")), .init("lifted", .number("2"))])])
        #expect(byUser.end == nil)
        let byAddress = await ask("bans lift", [.init("address", .string("2001:db8:0:1::77"))])
        #expect(byAddress.items == [.object([.init("lifted", .number("2"))])])
        _ = await ask("bans lift", [.init("all", .bool(true)), .init("user", .null)])
        #expect(throttle.currentBans().isEmpty)
        #expect(throttle.liftAll() == 0)
        let records = journal.records(.operator)
        #expect(records.allSatisfy { $0.requester == .process(uid: 1234) })
        #expect(records.map(\.result) == ["accepted", "accepted", "accepted"])
        #expect(records.map(\.facts?.action) == [.operatorLiftBan, .operatorLiftBan, .operatorLiftBan])
        #expect(records.map(\.facts?.user?.text) == ["alice", nil, nil])
        #expect(records.map(\.target) == [nil, "2001:db8:0:1::/64", "all"])
        #expect(records.map(\.facts?.peer.text) == ["control", "control", "control"])
        #expect(Set(records.map(\.facts?.call)).count == 3)
    }

    @Test("A lift that cannot be recorded is not carried out")
    func unrecorded() async throws {
        try ban("alice", from: .v4(0xC000_0201))
        journal.fail(JournalUnavailable("the disk is full"))
        for arguments: [JSONValue.Member] in [
            [.init("user", .string("alice"))], [.init("address", .string("192.0.2.1"))], [.init("all", .bool(true))],
        ] {
            let (items, end) = await ask("bans lift", arguments)
            #expect(items == [])
            #expect(
                end
                    == .unavailable("Nothing was changed, because the change could not be recorded: the disk is full"))
        }
        #expect(throttle.currentBans().count == 1)
        #expect(journal.records.isEmpty)
    }

    @Test("A lift needs exactly one valid argument")
    func mistakes() async {
        let wrong: [([JSONValue.Member], ControlError.Kind)] = [
            ([], .malformed), ([.init("all", .bool(false))], .malformed),
            ([.init("all", .bool(true)), .init("user", .string("alice"))], .malformed),
            ([.init("user", .string("alice")), .init("address", .string("::1"))], .malformed),
            ([.init("user", .string("a b"))], .refused), ([.init("user", .string(""))], .refused),
            ([.init("user", .string("alice\u{0}"))], .refused),
            ([.init("address", .string("localhost"))], .refused), ([.init("address", .string("1.2.3"))], .refused),
            ([.init("address", .string("1.2.3.4/24"))], .refused), ([.init("address", .string("::1\u{0}"))], .refused),
            ([.init("address", .string(""))], .refused), ([.init("user", .number("1"))], .malformed),
        ]
        for (arguments, kind) in wrong {
            guard let fault = await ask("bans lift", arguments).end else {
                Issue.record("\(arguments) was accepted")
                continue
            }
            #expect(fault.kind == kind, "\(arguments)")
        }
        #expect(journal.records.isEmpty)
    }

    @Test("Operators may write addresses in any form, and the list shows one form")
    func addresses() {
        let pairs: [(String, String)] = [
            ("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"), ("unix", "unix"),
            ("2001:DB8::1", "2001:db8::/64"), ("2001:db8::/64", "2001:db8::/64"), ("::1", "::/64"),
            ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff::/64"),
        ]
        for (read, written) in pairs { #expect(Peer.Address(operatorText: read)?.operatorText == written) }
    }
}
