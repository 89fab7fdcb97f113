import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Sends with an idempotency key")
struct IdempotentReplayTests {
    private func send(
        _ text: String = "hi", key: ReceivedRequest.FieldValue = .text("k-1"), to recipient: String = "bob",
        as user: String = "alice", pns: String = "apns", number: UInt64 = 1
    ) -> ReceivedRequest {
        var request = Sample.send("\"\(text)\"", pns: pns, to: recipient, as: user)
        request.idempotencyKey = key
        request.id = CallID(process: 0xFEED, number: number)
        return request
    }

    @Test(
        "A repeated send gets the same response with Idempotency-Replayed, is recorded as a replay and is not forwarded"
    )
    func replay() async throws {
        let gateway = TestGateway()
        let first = await gateway.serve(send())
        #expect(first.status == 200 && first.values("Idempotency-Replayed").isEmpty)
        let again = await gateway.serve(send(number: 2))
        #expect(again.status == 200 && again.values("Idempotency-Replayed") == ["true"])
        #expect(gateway.backend.requests.count == 1)
        #expect(gateway.journal.records.map(\.kind) == [.intent, .outcome, .replay])
        let facts = gateway.journal.records.map(\.facts)
        #expect(facts[0]?.idempotencyKey != nil && facts[0]?.idempotencyKey == facts[2]?.idempotencyKey)
        #expect(facts[0]?.digest == facts[2]?.digest)
        #expect(facts[2]?.call.number == 2)
        #expect(gateway.journal.records[2].result == "accepted")
    }

    @Test("The scope of a key is the user, recipient and service; a send without key is always new")
    func scope() async {
        let gateway = TestGateway()
        let requests = [
            send(), send(to: "carol"), send(as: "bob"), send(pns: "gcm"), send(key: .text("k-2")),
            send(key: .absent), send(key: .absent),
        ]
        for request in requests { #expect(await gateway.serve(request).status == 200) }
        #expect(gateway.backend.requests.count == requests.count)
    }

    @Test("Another message with the same key is a mismatch")
    func mismatch() async {
        let gateway = TestGateway()
        _ = await gateway.serve(send())
        let response = await gateway.serve(send("ho"))
        #expect(response.code == .idempotencyMismatch && response.status == 422)
        #expect(gateway.backend.requests.count == 1)
    }

    @Test("A repeated send gets 409 while the first one is in flight")
    func inFlight() async {
        let gate = Gate()
        let gateway = TestGateway(answering: { request in
            await gate.wait()
            return await ScriptedBackend.alwaysSucceeds(request)
        })
        async let first = gateway.serve(send())
        await gate.arrived()
        let second = await gateway.serve(send())
        #expect(second.code == .idempotencyInProgress && second.status == 409)
        #expect(second.values("Retry-After") == ["1"])
        await gate.open()
        #expect(await first.status == 200)
        #expect(await gateway.serve(send()).values("Idempotency-Replayed") == ["true"])
        #expect(gateway.backend.requests.count == 1)
    }

    /// A gate that suspends callers until it opens.
    private actor Gate {
        private var waiting: [CheckedContinuation<Void, Never>] = []
        private var watching: CheckedContinuation<Void, Never>?
        private var hasArrived = false

        func wait() async {
            hasArrived = true
            watching?.resume()
            watching = nil
            await withCheckedContinuation { waiting.append($0) }
        }

        func arrived() async {
            if hasArrived { return }
            await withCheckedContinuation { watching = $0 }
        }

        func open() {
            for one in waiting { one.resume() }
            waiting = []
        }
    }

    @Test("A failure is replayed, an unknown result is not sent again, and a send that did not leave is sent anew")
    func ends() async {
        let gateway = TestGateway()
        gateway.backend.queue(.status(500))
        #expect(await gateway.serve(send()).code == .backendFailed)
        let failed = await gateway.serve(send())
        #expect(failed.code == .backendFailed && failed.values("Idempotency-Replayed") == ["true"])
        for unknown in [BackendResult.timedOut, .gatewayStopped] {
            let gateway = TestGateway()
            gateway.backend.queue(unknown)
            _ = await gateway.serve(send())
            let again = await gateway.serve(send())
            #expect(again.code == .backendTimedOut && again.values("Idempotency-Replayed") == ["true"])
            #expect(gateway.backend.requests.count == 1)
        }
        for unsent in [BackendResult.unreachable("refused"), .overloaded] {
            let gateway = TestGateway()
            gateway.backend.queue(unsent)
            _ = await gateway.serve(send())
            let again = await gateway.serve(send())
            #expect(again.status == 200 && again.values("Idempotency-Replayed").isEmpty)
        }
    }

    @Test("A send that was rejected before it was forwarded is new the next time")
    func refused() async {
        let gateway = TestGateway()
        gateway.journal.fail(JournalUnavailable("full"))
        #expect(await gateway.serve(send()).code == .journalUnavailable)
        gateway.journal.fail(nil)
        #expect(await gateway.serve(send(String(repeating: "x", count: 5000))).code == .payloadTooLarge)
        #expect(await gateway.serve(send()).status == 200)
        #expect(gateway.backend.requests.count == 1)
    }

    @Test("A replay counts against call limits and not against send limits")
    func limits() async {
        let gateway = TestGateway {
            $0.limiter = Limiter(
                [
                    Limit(name: "sends", per: [.sender], count: 1, period: .seconds(60)),
                    Limit(name: "calls", per: [.user], count: 4, period: .seconds(60)),
                ], clocks: ManualClock().clocks)
        }
        #expect(await gateway.serve(send()).status == 200)
        for _ in 0..<3 { #expect(await gateway.serve(send()).status == 200) }
        #expect(await gateway.serve(send()).code == .rateLimited)
    }

    @Test(
        "A malformed key is rejected",
        arguments: ["", " ", "a b", "é", "a\u{7F}", String(repeating: "x", count: 256)])
    func malformed(key: String) async {
        await TestGateway().expect(.malformedRequest, for: send(key: .text(key)))
    }

    @Test("A repeated key field is rejected, the longest key is accepted, and other calls ignore the field")
    func field() async {
        await TestGateway().expect(.malformedRequest, for: send(key: .repeated))
        let gateway = TestGateway()
        #expect(await gateway.serve(send(key: .text(String(repeating: "~", count: 255)))).status == 200)
        var whoami = Sample.whoami
        whoami.idempotencyKey = .repeated
        #expect(await gateway.serve(whoami).status == 200)
    }

    @Test("A stored send expires after a day, and the oldest ones are evicted per user and in total")
    func bounds() throws {
        let clock = ManualClock()
        let memory = IdempotencyStore(clocks: clock.clocks, capacity: 6, maximumPerUser: 3)
        let digest = try #require(KeyedDigest([UInt8](repeating: 1, count: 16)))
        func scope(_ user: String, _ number: UInt8) throws -> IdempotencyStore.Scope {
            IdempotencyStore.Scope(
                user: try #require(UserName(canonical: user)), target: "bob", service: .apns,
                key: try #require(KeyedDigest([UInt8](repeating: number, count: 16))))
        }
        func isKnown(_ user: String, _ number: UInt8) throws -> Bool {
            guard case .new(let claim) = memory.lookUp(try scope(user, number), message: digest) else { return true }
            try claim.insert()
            claim.complete(.completed(.empty(200), .accepted))
            return false
        }
        for number in 0..<4 as Range<UInt8> { #expect(try !isKnown("alice", number)) }
        #expect(memory.count == 3)
        #expect(try isKnown("alice", 1) && isKnown("alice", 3))
        for number in 0..<3 as Range<UInt8> { #expect(try !isKnown("eve", number)) }
        #expect(memory.count == 6)
        #expect(try !isKnown("carol", 0))
        #expect(memory.count == 6)
        #expect(try isKnown("eve", 0) && isKnown("alice", 3))
        memory.removeAll(of: try #require(UserName(canonical: "eve")))
        #expect(try !isKnown("eve", 0))
        clock.advance(by: .seconds(86_400))
        #expect(try !isKnown("alice", 3))
        // A claim that is dropped without a result leaves the key free.
        do {
            guard case .new(let claim) = memory.lookUp(try scope("dora", 9), message: digest) else { throw Known() }
            try claim.insert()
        }
        #expect(try !isKnown("dora", 9))
    }

    @Test(
        "A wall clock that jumps forgets no send and keeps none longer than a day",
        arguments: [-100_000, -90_000, -3600, 0, 3600, 90_000, 100_000] as [Int64], [true, false])
    func clocks(_ jump: Int64, isCorrected: Bool) throws {
        let clock = ManualClock()
        let memory = IdempotencyStore(clocks: clock.clocks)
        let (alice, message) = (UserName(canonical: "alice")!, KeyedDigest([UInt8](repeating: 7, count: 16))!)
        func scope(_ number: UInt8) -> IdempotencyStore.Scope {
            IdempotencyStore.Scope(
                user: alice, target: "bob", service: .apns, key: KeyedDigest([UInt8](repeating: number, count: 16))!)
        }
        /// Returns whether the send would be made, and makes it then.
        func isNew(_ number: UInt8) throws -> Bool {
            guard case .new(let claim) = memory.lookUp(scope(number), message: message) else { return false }
            try claim.insert()
            claim.complete(.completed(.empty(200), .accepted))
            return true
        }
        func advance(by seconds: Int64) { clock.advance(by: .seconds(seconds)) }
        let start = clock.clocks.wall()
        for number in 0..<20 as Range<UInt8> { #expect(try isNew(number)) }
        clock.setWall(WallTime(seconds: start.seconds + jump))
        #expect(try isNew(30))
        advance(by: 3600)
        if isCorrected { clock.setWall(WallTime(seconds: start.seconds + 3600)) }
        #expect(try !isNew(0) && !isNew(19) && !isNew(30))
        advance(by: 86_400 - 3600 - 1)
        #expect(try !isNew(0) && !isNew(19) && !isNew(30))
        advance(by: 1)
        // Those that expired before it wait for their removal, and it is new nevertheless.
        #expect(try isNew(19) && isNew(0) && isNew(30))
    }

    @Test("After a restart a send is kept for what is left of its day, and a whole one if it is dated ahead")
    func ages() throws {
        let (clock, time) = (ManualClock(), WallTime(seconds: 1_795_000_000))
        let (alice, message) = (UserName(canonical: "alice")!, KeyedDigest([UInt8](repeating: 7, count: 16))!)
        for (age, left) in [(-90_000, 86_400), (0, 86_400), (3600, 82_800), (86_399, 1), (86_400, 0), (100_000, 0)] {
            let memory = IdempotencyStore(clocks: clock.clocks)
            memory.restore(
                IdempotentSend(
                    user: alice, target: "bob", service: .apns, key: message, message: message,
                    at: time.adding(Int64(-age) * 1_000_000), results: [.accepted], skipped: 0, intents: 1), at: time)
            func isKnown() -> Bool {
                let scope = IdempotencyStore.Scope(user: alice, target: "bob", service: .apns, key: message)
                if case .new = memory.lookUp(scope, message: message) { return false }
                return true
            }
            #expect(isKnown() == (left > 0), "\(age)")
            clock.advance(by: .seconds(max(0, left - 1)))
            #expect(isKnown() == (left > 0), "\(age)")
            clock.advance(by: .seconds(1))
            #expect(!isKnown(), "\(age)")
        }
    }

    @Test("Until the journal is read, sends with a key wait and others do not; then earlier ones are replayed")
    func restoration() async throws {
        let clock = ManualClock()
        let memory = IdempotencyStore(clocks: clock.clocks, isRestored: false)
        let gateway = TestGateway { $0.sends = memory }
        let requests = (1...4).map { send(key: .text("k-\($0)"), number: UInt64($0)) }
        let waiting = requests.map { request in Task { await gateway.serve(request) } }
        for _ in 0..<20 { #expect(await gateway.serve(send(key: .absent)).status == 200) }
        #expect(gateway.backend.requests.count == 20)
        let digester = KeyedDigester(key: Secret(Array(repeating: 7, count: 32)))
        for key in ["k-1", "k-3"] {
            memory.restore(
                IdempotentSend(
                    user: try #require(UserName(canonical: "alice")), target: "bob", service: .apns,
                    key: try #require(digester.digest(Array(key.utf8))),
                    message: try #require(digester.digest(ofTexts: "alice", "hi")), at: clock.clocks.wall(),
                    results: [.accepted], skipped: 0, intents: 1), at: clock.clocks.wall())
        }
        memory.endRestoration(.success(()))
        var replayed: [Bool] = []
        for call in waiting {
            let response = await call.value
            #expect(response.status == 200)
            replayed.append(response.values("Idempotency-Replayed") == ["true"])
        }
        #expect(replayed == [true, false, true, false] && gateway.backend.requests.count == 22)
    }

    @Test("If the journal cannot be read, sends with a key get 503 and are charged as calls, and others are made")
    func unreadable() async {
        let memory = IdempotencyStore(clocks: ManualClock().clocks, isRestored: false)
        let gateway = TestGateway {
            $0.sends = memory
            $0.limiter = Limiter(
                [Limit(name: "calls", per: [.user], count: 3, period: .seconds(60))], clocks: ManualClock().clocks)
        }
        let waiting = Task { await gateway.serve(send()) }
        memory.endRestoration(.failure(JournalUnavailable("segment: Input/output error")))
        for response in [await waiting.value, await gateway.serve(send())] {
            #expect(response.code == .journalUnavailable && response.values("Retry-After") == ["5"])
        }
        #expect(gateway.backend.requests.isEmpty)
        #expect(await gateway.serve(send(key: .absent)).status == 200)
        #expect(await gateway.serve(send()).code == .rateLimited)
    }

    @Test(
        "The sends of a user that are removed before the end of the restoration stay away, and a later one is not replaced"
    )
    func removedMeanwhile() throws {
        let clock = ManualClock()
        let (alice, bob) = (UserName(canonical: "alice")!, UserName(canonical: "bob")!)  // Valid names.
        let message = try #require(KeyedDigest([UInt8](repeating: 7, count: 16)))
        let memory = IdempotencyStore(clocks: clock.clocks, isRestored: false)
        func restore(_ user: UserName, _ results: [CallResult], age: Int64 = 0) {
            memory.restore(
                IdempotentSend(
                    user: user, target: "carol", service: .apns, key: message, message: message,
                    at: clock.clocks.wall().adding(-age), results: results, skipped: 0, intents: 1),
                at: clock.clocks.wall())
        }
        func look(_ user: UserName) -> IdempotencyStore.Lookup {
            memory.lookUp(
                IdempotencyStore.Scope(user: user, target: "carol", service: .apns, key: message), message: message)
        }
        memory.removeAll(of: bob)
        restore(bob, [.accepted])
        restore(alice, [.accepted])
        // A crash left it without an outcome, so the journal's end has it.
        restore(alice, [], age: 1_000_000)
        memory.endRestoration(.success(()))
        guard case .new = look(bob), case .completed(_, .accepted) = look(alice) else { throw Known() }
        memory.removeAll(of: alice)
        guard case .new = look(alice) else { throw Known() }
    }

    @Test("A bounded number of sends waits, and one whose client has gone or whose user was revoked is not made")
    func bounded() async throws {
        let memory = IdempotencyStore(clocks: ManualClock().clocks, isRestored: false)
        let gateway = TestGateway {
            $0.sends = memory
            $0.limiter = Limiter([], clocks: ManualClock().clocks)
            $0.callsInFlight = CallerConcurrencyLimit.Bounds(perUser: 10_000, perAddress: 10_000)
        }
        let gone = ClientDisconnect()
        let requests = (0..<IdempotencyStore.maximumWaiting + 10).map { number in
            var request = send(
                key: .text("k-\(number)"), as: number % 3 == 1 ? "eve" : "alice", number: UInt64(number))
            if number % 3 == 0 { request.clientDisconnect = gone }
            return request
        }
        var made = 0
        await withTaskGroup(of: (Int, RejectionCode?).self) { group in
            for (number, request) in requests.enumerated() {
                group.addTask { (number, await gateway.serve(request).code) }
            }
            // All others wait when so many have been rejected.
            for _ in 0..<10 { #expect(await group.next()?.1 == .overloaded) }
            gone.signal()
            gateway.sessions.revoke(UserName(canonical: "eve")!)
            memory.endRestoration(.success(()))
            for await (number, code) in group {
                #expect(code == [.requestTimeout, .credentialsRejected, nil][number % 3])
                if code == nil { made += 1 }
            }
        }
        #expect(made > 150 && gateway.backend.requests.count == made)
    }

    private struct Known: Error {}

    @Test("After a restart a send has its recorded result, is unknown without one, and is new if it did not leave")
    func restart() throws {
        let clock = ManualClock()
        let alice = try #require(UserName(canonical: "alice"))
        let message = try #require(KeyedDigest([UInt8](repeating: 7, count: 16)))
        func look(
            _ results: [CallResult], target: String = "bob", skipped: Int = 0, intents: Int = 1
        ) throws
            -> IdempotencyStore.Lookup
        {
            let memory = IdempotencyStore(clocks: clock.clocks)
            let key = try #require(KeyedDigest([UInt8](repeating: 8, count: 16)))
            memory.restore(
                IdempotentSend(
                    user: alice, target: target, service: .apns, key: key, message: message,
                    at: clock.clocks.wall(), results: results, skipped: skipped, intents: intents),
                at: clock.clocks.wall())
            return memory.lookUp(
                IdempotencyStore.Scope(user: alice, target: target, service: .apns, key: key), message: message)
        }
        guard case .completed(let good, .accepted) = try look([.accepted]) else { throw Known() }
        #expect(good == .empty(200))
        guard case .completed(let bad, .backendFailed) = try look([.backendFailed]) else { throw Known() }
        #expect(bad.code == .backendFailed)
        guard case .unknown = try look([]) else { throw Known() }
        guard case .unknown = try look([.unknownAfterCrash]) else { throw Known() }
        guard case .new = try look([.backendUnreachable]) else { throw Known() }
        guard
            case .completed(let counts, .accepted) = try look(
                [.accepted, .accepted, .backendFailed], target: "audience:oncall", skipped: 2, intents: 3)
        else { throw Known() }
        #expect(counts.text == #"{"accepted":2,"skipped":2,"failed":1}"#)
        guard case .unknown = try look([.accepted], target: "audience:oncall", intents: 2) else { throw Known() }
    }
}
