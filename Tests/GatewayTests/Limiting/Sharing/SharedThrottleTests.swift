import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Failed logins that several nodes share")
struct SharedThrottleTests {
    private struct Node {
        let sharing = DebtSharing(key: [UInt8](repeating: 7, count: DebtSharing.keyLength))
        let throttle: LoginThrottle

        init(_ clock: ManualClock) { throttle = LoginThrottle(clocks: clock.clocks, sharing: sharing) }

        /// The number of passwords that are verified, each with a wrong result.
        func failures(_ user: String, at peer: Peer, attempts: Int = 200) -> Int {
            (0..<attempts).count { _ in (try? throttle.admit(.test(user), from: peer)) != nil }
        }
    }

    private let clock = ManualClock()
    private let home = Peer.v4(1)

    private var now: Int64 { clock.clocks.monotonic().nanoseconds }

    @Test("Nodes count the failed logins of a pair together")
    func pair() {
        var model = DebtModel()
        let (first, second) = (Node(clock), Node(clock))
        #expect(first.failures("alice", at: home) == 10)
        model.exchange(first.throttle, now: now)
        #expect(second.failures("alice", at: home, attempts: 1) == 1)
        model.exchange(second.throttle, now: now)
        #expect(second.failures("alice", at: home) == 0)
        // Ten failures of one node and one of the other.
        clock.advance(by: .seconds(59))
        #expect(second.failures("alice", at: home) == 0)
        clock.advance(by: .seconds(2))
        #expect(second.failures("alice", at: home) == 1)
    }

    @Test("Failed logins from many addresses do not lock out a user who is known at another node")
    func knownLogin() throws {
        let (first, second) = (Node(clock), Node(clock))
        first.throttle.recordSuccess(of: .test("alice"), from: home)
        first.throttle.recordSuccess(of: .test("alice"), from: home)
        let changes = first.sharing.takeChanges()
        #expect(changes.map(\.kind) == [.knownLogin])
        second.throttle.apply(changes)
        for number in 0..<100 { #expect(second.failures("alice", at: .v4(1000 + UInt32(number)), attempts: 1) == 1) }
        #expect(second.failures("alice", at: .v4(5000)) == 0)
        #expect(try second.throttle.isKnownPairUnlessBlocked(.test("alice"), from: home))
        // The login of another address is not known.
        #expect(throws: Rejection.self) { try second.throttle.isKnownPairUnlessBlocked(.test("alice"), from: .v4(2)) }
        // It is told again after a day.
        clock.advance(by: .seconds(86_400))
        first.throttle.recordSuccess(of: .test("alice"), from: home)
        #expect(first.sharing.takeChanges().count == 1)
    }

    @Test("Failed logins of a known pair are counted together, and refunded")
    func knownPair() throws {
        var model = DebtModel()
        let (first, second) = (Node(clock), Node(clock))
        first.throttle.recordSuccess(of: .test("alice"), from: home)
        second.throttle.apply(first.sharing.takeChanges())
        #expect(first.failures("alice", at: home) == 10)
        model.exchange(first.throttle, now: now)
        let charge = try second.throttle.admit(.test("alice"), from: home)
        #expect(charge.isOfKnownPair)
        model.exchange(second.throttle, now: now)
        #expect(second.failures("alice", at: home) == 0)
        second.throttle.refund(charge)
        model.exchange(second.throttle, now: now)
        clock.advance(by: .seconds(30))
        #expect(second.failures("alice", at: home) == 1)
    }

    @Test("Known addresses of a replaced user are forgotten at every node")
    func removal() throws {
        let (first, second) = (Node(clock), Node(clock))
        for user in ["alice", "bob"] { first.throttle.recordSuccess(of: .test(user), from: home) }
        second.throttle.apply(first.sharing.takeChanges())
        // One is used at the second node, the other not yet.
        #expect(try second.throttle.isKnownPairUnlessBlocked(.test("alice"), from: home))
        for user in ["alice", "bob"] { first.throttle.removeKnownAddresses(of: .test(user)) }
        second.throttle.apply(first.sharing.takeChanges())
        for node in [first, second] {
            for user in ["alice", "bob"] {
                #expect(try !node.throttle.isKnownPairUnlessBlocked(.test(user), from: home))
            }
        }
    }

    @Test("Bans that an operator lifts end at every node", arguments: ["user", "address", "all"])
    func lift(kind: String) {
        var model = DebtModel()
        let (first, second) = (Node(clock), Node(clock))
        // Fifteen failures together, so that the address itself has five left.
        #expect(first.failures("alice", at: home) == 10)
        #expect(second.failures("alice", at: home, attempts: 5) == 5)
        for node in [first, second] { #expect(node.failures("bob", at: .v4(2)) == 10) }
        model.exchange(first.throttle, now: now)
        switch kind {
        case "user": first.throttle.lift(user: .test("alice"))
        case "address": first.throttle.lift(address: home)
        default: first.throttle.liftAll()
        }
        let changes = first.sharing.takeChanges()
        for change in changes { model.remove(change.pattern) }
        second.throttle.apply(changes)
        model.exchange(second.throttle, now: now)
        for node in [first, second] {
            #expect(node.failures("alice", at: home, attempts: 5) == 5)
            #expect((node.failures("bob", at: .v4(2), attempts: 5) == 0) == (kind != "all"))
        }
    }

    @Test("An isolated node allows a part of the failed logins")
    func isolation() {
        let node = Node(clock)
        node.throttle.use(weight: 2)
        #expect(node.failures("alice", at: home) == 5)
        // The first after half a minute, then one a minute.
        for seconds in [29, 57] {
            clock.advance(by: .seconds(seconds))
            #expect(node.failures("alice", at: home) == 0)
            clock.advance(by: .seconds(2))
            #expect(node.failures("alice", at: home) == 1)
        }
    }
}
