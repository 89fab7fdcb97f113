import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Administration of limits") struct LimitAdministrationTests {
    private let clock = ManualClock()
    private let alice = UserName.numbered(1)
    private let bob = UserName.numbered(2)

    private func limiter() -> Limiter {
        Limiter(
            [
                Limit(name: "sends", per: [.sender], count: 2, period: .seconds(60)),
                Limit(name: "pair", per: [.sender, .recipient], count: 1, period: .seconds(60)),
                Limit(name: "team", per: [.group], count: 50, period: .seconds(60)),
                Limit(name: "login", per: [.address], count: 1, period: .seconds(60)),
            ], clocks: clock.clocks, capacity: 1000)
    }

    @Test("Exhausted limits are listed by name, the longest wait first")
    func spent() throws {
        let limiter = limiter()
        #expect(limiter.admits(.test(alice, "red"), to: bob))
        #expect(limiter.exhausted() == [])
        #expect(!limiter.admits(.test(alice, "red"), to: bob))
        #expect(limiter.admits(.test(alice, "red"), to: .numbered(3)))
        #expect(!limiter.admits(.test(alice, "red"), to: .numbered(4)))
        _ = try limiter.admitLogin(from: .documentation)
        #expect(throws: Rejection.self) { try limiter.admitLogin(from: .documentation) }
        let spent = limiter.exhausted()
        #expect(spent.map(\.limit) == ["login", "pair", "sends"] && spent.map(\.seconds) == [60, 60, 30])
        #expect(spent[1].user == alice && spent[1].recipient == bob && spent[1].remaining == 0 && spent[1].burst == 1)
        #expect(spent[0].address == Peer.documentation.address && spent[0].user == nil)
        clock.advance(by: .seconds(30))
        #expect(limiter.exhausted().map(\.limit) == ["login", "pair"])
        clock.advance(by: .seconds(30))
        #expect(limiter.exhausted() == [])
    }

    @Test("The list of exhausted limits is bounded and contains the latest ones")
    func bounded() {
        let limiter = Limiter(
            [Limit(name: "x", per: [.user], count: 1, period: .seconds(60))], clocks: clock.clocks, capacity: 10_000)
        for number in 0..<5000 {
            #expect(limiter.admits(.test(.numbered(number))))
            #expect(!limiter.admits(.test(.numbered(number))))
        }
        let spent = limiter.exhausted()
        #expect((ThrottledKeys.capacity / 2...ThrottledKeys.capacity).contains(spent.count))
        #expect(spent.contains { $0.user == .numbered(4999) })
    }

    @Test("A status query returns the limits that the selector matches")
    func statuses() {
        let limiter = limiter()
        #expect(limiter.admits(.test(alice, "red"), to: bob))
        var pick = LimitSelector()
        pick.user = alice
        #expect(limiter.statuses(of: pick).map(\.limit) == ["sends"])
        pick.recipient = bob
        #expect(limiter.statuses(of: pick).map { [$0.remaining, $0.burst, $0.seconds] } == [[1, 2, 0], [0, 1, 60]])
        pick = LimitSelector()
        pick.group = GroupName("red")!
        #expect(limiter.statuses(of: pick).map(\.remaining) == [49])
        pick.limit = "sends"
        #expect(limiter.statuses(of: pick) == [])
    }

    @Test("A reset forgets the selected keys and no others")
    func reset() throws {
        let limiter = limiter()
        func spend() {
            for user in [alice, bob] {
                _ = limiter.admits(.test(user, "red"), to: .numbered(3))
                _ = limiter.admits(.test(user, "red"), to: .numbered(4))
            }
        }
        spend()
        var pick = LimitSelector()
        pick.user = alice
        #expect(limiter.reset(pick) == 3)
        #expect(limiter.admits(.test(alice), to: .numbered(3)) && !limiter.admits(.test(bob), to: .numbered(3)))
        (pick.user, pick.recipient) = (nil, .numbered(4))
        #expect(limiter.reset(pick) == 1)
        pick = LimitSelector()
        pick.group = GroupName("red")!
        #expect(limiter.reset(pick) == 1)
        pick = LimitSelector()
        pick.limit = "sends"
        #expect(limiter.reset(pick) == 2)
        #expect(limiter.admits(.test(bob), to: .numbered(4)) && !limiter.admits(.test(bob), to: .numbered(3)))
        _ = try limiter.admitLogin(from: .documentation)
        pick = LimitSelector()
        pick.address = Peer.documentation.address
        #expect(limiter.reset(pick) == 1)
        _ = try limiter.admitLogin(from: .documentation)
        #expect(limiter.reset(LimitSelector()) > 0)
        #expect(limiter.reset(LimitSelector()) == 0 && limiter.keyCount == 0)
        _ = try limiter.admitLogin(from: .documentation)
    }
}
