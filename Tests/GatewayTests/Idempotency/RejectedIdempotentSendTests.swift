import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("The idempotency store under rejected and failed sends")
struct RejectedIdempotentSendTests {
    private let digest = KeyedDigest([UInt8](repeating: 1, count: 16))!

    private func scope(_ user: UserName, _ number: Int) -> IdempotencyStore.Scope {
        let bytes = (0..<16).map { UInt8(truncatingIfNeeded: number >> ($0 % 8 * 8)) }
        return IdempotencyStore.Scope(user: user, target: "bob", service: .apns, key: KeyedDigest(bytes)!)
    }

    private func send(
        _ memory: IdempotencyStore, _ user: UserName, _ number: Int, _ end: IdempotentResult?
    ) throws -> Bool {
        guard case .new(let claim) = memory.lookUp(scope(user, number), message: digest) else { return false }
        try claim.insert()
        if let end { claim.complete(end) }
        return true
    }

    @Test("A million rejected or unsent sends evict no send of another user")
    func million() throws {
        let memory = IdempotencyStore(clocks: ManualClock().clocks, capacity: 1000, maximumPerUser: 100)
        let alice = try #require(UserName(canonical: "alice"))
        let mallory = try #require(UserName(canonical: "mallory"))
        #expect(try send(memory, alice, 1, .completed(.empty(200), .accepted)))
        for number in 0..<1_000_000 {
            // Half of the sends are rejected before they are stored. A quarter is dropped, and a quarter does not reach
            // the backend.
            guard case .new(let claim) = memory.lookUp(scope(mallory, number), message: digest) else {
                Issue.record("a rejected send is stored")
                return
            }
            if number % 2 == 0 { continue }
            try claim.insert()
            if number % 4 == 1 { claim.complete(.notSent) }
        }
        #expect(memory.count == 1)
        #expect(try !send(memory, alice, 1, nil))
    }

    @Test("A user above the limit per user loses the user's own oldest send and nobody else's")
    func ownOldest() throws {
        let memory = IdempotencyStore(clocks: ManualClock().clocks, capacity: 8, maximumPerUser: 4)
        let names = try ["alice", "mallory", "eve", "carol"].map { try #require(UserName(canonical: $0)) }
        #expect(try send(memory, names[0], 1, .completed(.empty(200), .accepted)))
        for number in 0..<100 { #expect(try send(memory, names[1], number, .unknown)) }
        #expect(memory.count == 5)
        for number in 0..<100 { #expect(try send(memory, names[2], number, .unknown)) }
        // The table is full, and two users have more than an equal share of it.
        #expect(memory.count == 8)
        #expect(try !send(memory, names[0], 1, nil))
        #expect(try !send(memory, names[1], 99, nil) && !send(memory, names[2], 99, nil))
    }

    @Test("Completing an evicted send does not change the send that reused its key")
    func pushedOut() throws {
        let memory = IdempotencyStore(clocks: ManualClock().clocks, capacity: 8, maximumPerUser: 1)
        let alice = try #require(UserName(canonical: "alice"))
        guard case .new(let first) = memory.lookUp(scope(alice, 1), message: digest) else { return }
        try first.insert()
        #expect(try send(memory, alice, 2, .unknown))
        #expect(try send(memory, alice, 1, .unknown))
        first.complete(.notSent)
        #expect(try !send(memory, alice, 1, nil))
    }

    @Test("One of two concurrent calls with a new key is admitted")
    func together() throws {
        let memory = IdempotencyStore(clocks: ManualClock().clocks)
        let alice = try #require(UserName(canonical: "alice"))
        guard case .new(let first) = memory.lookUp(scope(alice, 1), message: digest),
            case .new(let second) = memory.lookUp(scope(alice, 1), message: digest)
        else {
            Issue.record("the key is not new")
            return
        }
        try first.insert()
        #expect(throws: Rejection.self) { try second.insert() }
        first.complete(.completed(.empty(200), .accepted))
        #expect(try !send(memory, alice, 1, nil))
    }

    @Test("Sends that a limit rejects store no key, so another user's retry is still replayed")
    func refusedByLimit() async {
        let gateway = TestGateway {
            $0.sends = IdempotencyStore(clocks: ManualClock().clocks, capacity: 4, maximumPerUser: 4)
            $0.limiter = Limiter(
                [Limit(name: "sends", per: [.sender], count: 1, period: .seconds(60))], clocks: ManualClock().clocks)
        }
        func send(_ user: String, _ key: String) async -> Response {
            var request = Sample.send("\"hi\"", to: "bob", as: user)
            request.idempotencyKey = .text(key)
            return await gateway.serve(request)
        }
        #expect(await send("alice", "once").status == 200)
        #expect(await send("eve", "0").status == 200)
        for number in 1..<50 { #expect(await send("eve", "\(number)").code == .rateLimited) }
        let retry = await send("alice", "once")
        #expect(retry.status == 200 && retry.values("Idempotency-Replayed") == ["true"])
        #expect(gateway.backend.requests.count == 2)
    }

    @Test("A mismatched key counts against the call limit")
    func mismatchPays() async {
        let gateway = TestGateway {
            $0.limiter = Limiter(
                [Limit(name: "calls", per: [.user], count: 3, period: .seconds(60))], clocks: ManualClock().clocks)
        }
        func send(_ text: String) async -> Response {
            var request = Sample.send("\"\(text)\"", to: "bob", as: "alice")
            request.idempotencyKey = .text("k")
            return await gateway.serve(request)
        }
        #expect(await send("one").status == 200)
        for _ in 0..<2 { #expect(await send("two").code == .idempotencyMismatch) }
        #expect(await send("two").code == .rateLimited)
    }
}
