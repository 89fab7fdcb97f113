import GatewayCore
import GatewaySupport
import GatewayTesting
import Synchronization
import Testing

@testable import Gateway

@Suite("Limits that several nodes share")
struct SharedLimitTests {
    private struct Node {
        let sharing: DebtSharing
        let limiter: Limiter

        init(_ limits: [Limit], _ clock: ManualClock, key: UInt8 = 7) {
            sharing = DebtSharing(key: [UInt8](repeating: key, count: DebtSharing.keyLength))
            limiter = Limiter(limits, clocks: clock.clocks, sharing: sharing)
        }

        func isAdmitted(_ user: String, to recipient: String = "bob") -> Bool {
            limiter.admits(.test(.test(user)), to: .test(recipient))
        }

        func admitted(_ user: String, attempts: Int) -> Int { (0..<attempts).count { _ in isAdmitted(user) } }
    }

    private let clock = ManualClock()
    private let limits = [Limit(name: "sends", per: [.sender], count: 60, period: .seconds(60), burst: 10)]

    private var now: Int64 { clock.clocks.monotonic().nanoseconds }

    @Test("The digest is SipHash-1-3")
    func digest() {
        func digest(_ text: String) -> UInt64 {
            var hash = SipHash(key: (0, 0))
            hash.combine(text)
            return hash.finalize()
        }
        #expect(digest("a") == 0x4074_48d2_b89b_1813)
        #expect(digest("12345678") == 0x3489_9824_3056_0a87)
        #expect(digest("alice@example.org") == 0xd94d_a8ec_ab3a_98ab)
    }

    @Test("Keys and patterns are read back, and keys sort like their bytes")
    func encoding() {
        var random = SplitMix(seed: 3)
        var keys: [DebtKey] = []
        for _ in 0..<200 {
            var key = DebtKey(limit: UInt64.random(in: 0...2, using: &random))
            key.caller = .random(in: 0 ... .max, using: &random)
            key.recipient = .random(in: 0...1, using: &random)
            key.address = .random(in: 0 ... .max, using: &random)
            key.group = .random(in: 0 ... .max, using: &random)
            key.service = .random(in: 0...4, using: &random)
            #expect(DebtKey(bytes: key.bytes) == key && key.bytes.count == DebtKey.byteCount)
            keys.append(key)
            var pattern = DebtPattern(limits: [key.limit, 9])
            pattern.caller = key.caller
            pattern.service = key.service
            #expect(DebtPattern(bytes: pattern.bytes) == pattern && pattern.matches(key))
            pattern.group = key.group &+ 1
            #expect(DebtPattern(bytes: pattern.bytes) == pattern && !pattern.matches(key))
        }
        #expect(keys.sorted().map(\.bytes) == keys.map(\.bytes).sorted { $0.lexicographicallyPrecedes($1) })
        #expect(DebtKey(bytes: [1]) == nil && DebtPattern(bytes: [1]) == nil)
        #expect(DebtPattern(bytes: [UInt8](repeating: 0, count: 33)) == nil)
    }

    @Test("Nodes overshoot a limit by at most one burst each and pay it back", arguments: [2, 3, 5])
    func overshoot(count: Int) {
        var random = SplitMix(seed: UInt64(count))
        var model = DebtModel()
        let nodes = (0..<count).map { _ in Node(limits, clock) }
        var admitted = 0
        let seconds = 300
        for _ in 0..<seconds * 10 {
            clock.advance(by: .milliseconds(100))
            for node in nodes { admitted += node.admitted("alice", attempts: Int.random(in: 0...6, using: &random)) }
            for node in nodes.shuffled(using: &random) { model.exchange(node.limiter, now: now) }
            #expect(admitted <= 10 * count + Int(now / 1_000_000_000 - 1000) + 1)
        }
        // The overshoot of the beginning is paid back: each node adds at most a call that it has yet to share.
        #expect(admitted <= 10 + seconds + count)
        #expect(admitted >= seconds)
    }

    @Test("A node learns of the calls at another with its own first call")
    func learning() {
        var model = DebtModel()
        let (first, second) = (Node(limits, clock), Node(limits, clock))
        #expect(first.admitted("alice", attempts: 20) == 10)
        model.exchange(first.limiter, now: now)
        #expect(second.isAdmitted("alice"))
        model.exchange(second.limiter, now: now)
        #expect(!second.isAdmitted("alice") && second.isAdmitted("bob"))
        clock.advance(by: .seconds(2))
        #expect(second.isAdmitted("alice"))
    }

    @Test("Refunds are shared")
    func refunds() throws {
        let logins = [Limit(name: "login", per: [.address], count: 60, period: .seconds(60), burst: 10)]
        var model = DebtModel()
        let (first, second) = (Node(logins, clock), Node(logins, clock))
        let charges = try (0..<10).map { _ in try first.limiter.admitLogin(from: .v4(1)) }
        model.exchange(first.limiter, now: now)
        for charge in charges { first.limiter.refund(charge) }
        model.exchange(first.limiter, now: now)
        _ = try second.limiter.admitLogin(from: .v4(1))
        model.exchange(second.limiter, now: now)
        #expect((0..<20).count { _ in (try? second.limiter.admitLogin(from: .v4(1))) != nil } == 9)
    }

    @Test("A charge and its refund between two exchanges are not shared")
    func refundAtOnce() throws {
        let node = Node([Limit(name: "login", per: [.address], count: 60, period: .seconds(60))], clock)
        node.limiter.refund(try node.limiter.admitLogin(from: .v4(1)))
        #expect(node.limiter.takeDebts().isEmpty)
    }

    @Test("What could not be shared is shared later, as far as it is not paid back")
    func restoring() {
        var model = DebtModel()
        let (first, second) = (Node(limits, clock), Node(limits, clock))
        #expect(first.admitted("alice", attempts: 10) == 10)
        first.limiter.restore(first.limiter.takeDebts())
        clock.advance(by: .seconds(4))
        model.exchange(first.limiter, now: now)
        #expect(second.isAdmitted("alice"))
        model.exchange(second.limiter, now: now)
        // Six calls of the first node are not paid back.
        #expect(second.admitted("alice", attempts: 10) == 3)
        clock.advance(by: .seconds(100))
        #expect(first.limiter.takeDebts().isEmpty)
    }

    @Test("A reset at one node reaches another, and what that has not shared yet does not come back")
    func reset() {
        var model = DebtModel()
        let (first, second) = (Node(limits, clock), Node(limits, clock))
        for user in ["alice", "carol"] {
            #expect(first.admitted(user, attempts: 10) == 10)
            #expect(second.admitted(user, attempts: 10) == 10)
        }
        model.exchange(first.limiter, now: now)
        var selector = LimitSelector()
        selector.user = .test("alice")
        #expect(first.limiter.reset(selector) == 1)
        let changes = first.sharing.takeChanges()
        #expect(changes.map(\.kind) == [.debtsRemoved] && first.sharing.takeChanges().isEmpty)
        for change in changes { model.remove(change.pattern) }
        second.limiter.apply(changes)
        model.exchange(second.limiter, now: now)
        #expect(first.admitted("alice", attempts: 5) == 5)
        #expect(second.admitted("alice", attempts: 5) == 5)
        #expect(!first.isAdmitted("carol") && !second.isAdmitted("carol"))
    }

    @Test("Isolated nodes together admit no more than one")
    func isolation() {
        let nodes = (0..<3).map { _ in Node(limits, clock) }
        for node in nodes { node.limiter.use(weight: 3) }
        var admitted = 0
        for _ in 0..<600 {
            clock.advance(by: .milliseconds(100))
            for node in nodes { admitted += node.admitted("alice", attempts: 3) }
        }
        #expect(admitted <= 12 + 60 + 3 && admitted >= 60)
        // Afterwards each shares what it has admitted, not more.
        var model = DebtModel()
        for node in nodes {
            node.limiter.use(weight: 1)
            model.exchange(node.limiter, now: now)
        }
        #expect(model.arrivals.values.allSatisfy { $0 - now <= 40_000_000_000 })
    }

    @Test("The rate of a limit does not change its keys; other keys and other digests do")
    func keys() {
        func keys(_ limits: [Limit], key: UInt8 = 7) -> [DebtKey] {
            let node = Node(limits, clock, key: key)
            #expect(node.isAdmitted("alice"))
            return node.limiter.takeDebts().map(\.key)
        }
        let first = keys(limits)
        #expect(first.count == 1)
        #expect(keys([Limit(name: "other", per: [.user], count: 9, period: .seconds(1))] + limits).contains(first[0]))
        #expect(keys([Limit(name: "sends", per: [.sender], count: 9, period: .seconds(1))]) == first)
        #expect(keys([Limit(name: "sends", per: [.sender, .recipient], count: 9, period: .seconds(1))]) != first)
        #expect(keys(limits, key: 8) != first)
    }

    @Test("The debts to share are bounded")
    func bound() {
        var pending = PendingDebts()
        for number in 0..<200_000 {
            var key = LimitKey(limit: 1)
            key.caller = UInt64(number) &* 0x9E37_79B9_7F4A_7C15 | 1
            pending.add(1, for: key, at: key.position)
        }
        #expect(pending.count <= 65_536 && pending.count > 60_000)
    }

    @Test("A gateway without a shared store records nothing")
    func unshared() {
        let limiter = Limiter(limits, clocks: clock.clocks)
        #expect(limiter.admits(.test(.test("alice")), to: .test("bob")))
        #expect(limiter.takeDebts().isEmpty)
        let isRecording = limiter.store.table.withLock { $0.pending != nil }
        #expect(!isRecording)
    }

    @Test("Waiting changes are bounded, and a removal is never lost")
    func changes() {
        let sharing = DebtSharing(key: [UInt8](repeating: 1, count: DebtSharing.keyLength))
        for _ in 0..<DebtSharing.capacity + 10 { sharing.announce(.knownLogin, DebtPattern()) }
        let taken = sharing.takeChanges()
        #expect(taken.count == DebtSharing.capacity)
        sharing.announce(.debtsRemoved, DebtPattern(limits: [4]))
        sharing.restore(taken)
        #expect(sharing.takeChanges() == DebtSharing.removalOfEverything)
    }
}
