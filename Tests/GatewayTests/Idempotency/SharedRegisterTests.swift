import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Sends with an idempotency key in a register that gateways share")
struct SharedRegisterTests {
    private let register = MemoryKeyedSends()

    private func send(
        _ text: String = "hi", key: ReceivedRequest.FieldValue = .text("k-1"), to recipient: String = "bob"
    ) -> ReceivedRequest {
        var request = Sample.send("\"\(text)\"", to: recipient, as: "alice")
        request.idempotencyKey = key
        return request
    }

    private func makeGateway(_ limits: [Limit] = Limit.defaults) -> TestGateway {
        TestGateway(
            adjust: { $0.limiter = Limiter(limits, clocks: ManualClock().clocks) }, keyedSends: register)
    }

    @Test("A send that is repeated at another gateway is replayed there and not forwarded")
    func replay() async {
        let (first, second) = (makeGateway(), makeGateway())
        let response = await first.serve(send())
        #expect(response.status == 200)
        let again = await second.serve(send())
        #expect(again.status == 200 && again.values("Idempotency-Replayed") == ["true"])
        #expect(second.backend.requests.isEmpty && second.journal.records.map(\.kind) == [.replay])
        #expect(await second.serve(send("ho")).code == .idempotencyMismatch)
        #expect(await second.serve(send(key: .text("k-2"))).status == 200)
        #expect(first.backend.requests.count == 1 && second.backend.requests.count == 1)
    }

    @Test("Failures are replayed, unknown results are not sent again, and sends that did not leave are sent anew")
    func results() async {
        let (first, second) = (makeGateway(), makeGateway())
        first.backend.queue(.status(500))
        #expect(await first.serve(send()).code == .backendFailed)
        let failed = await second.serve(send())
        #expect(failed.code == .backendFailed && failed.values("Idempotency-Replayed") == ["true"])
        first.backend.queue(.timedOut)
        _ = await first.serve(send(key: .text("k-2")))
        #expect(await second.serve(send(key: .text("k-2"))).code == .backendTimedOut)
        first.backend.queue(.unreachable("refused"))
        #expect(await first.serve(send(key: .text("k-3"))).code == .backendUnreachable)
        #expect(await second.serve(send(key: .text("k-3"))).status == 200)
        #expect(second.backend.requests.count == 1)
    }

    @Test("A send in flight at another gateway is rejected")
    func inFlight() async throws {
        let gateway = makeGateway()
        let alice = try #require(UserName(canonical: "alice"))
        let digester = KeyedDigester(key: Secret(Array(repeating: 7, count: 32)))
        _ = try await register.insert(
            KeyedSend(
                user: alice, target: "bob", service: .apns, key: #require(digester.digest(Array("k-1".utf8))),
                message: #require(digester.digest(ofTexts: "alice", "hi"))))
        let response = await gateway.serve(send())
        #expect(response.code == .idempotencyInProgress && response.values("Retry-After") == ["1"])
        #expect(gateway.backend.requests.isEmpty)
    }

    @Test("While the register fails, a send with a key gets 503 and is charged once as a call; others are made")
    func failure() async {
        let gateway = makeGateway([
            Limit(name: "sends", per: [.sender], count: 1, period: .seconds(60)),
            Limit(name: "calls", per: [.user], count: 3, period: .seconds(60)),
        ])
        register.fail(LedgerUnavailable("stopped"))
        for _ in 0..<2 {
            let response = await gateway.serve(send())
            #expect(response.code == .ledgerUnavailable && response.status == 503)
            #expect(response.values("Retry-After") == ["5"])
        }
        #expect(gateway.backend.requests.isEmpty)
        // The third call within the limit, and the first send.
        #expect(await gateway.serve(send(key: .absent)).status == 200)
        #expect(await gateway.serve(send()).code == .rateLimited)
    }

    @Test("A send that is rejected after its registration is removed from the register")
    func rejected() async {
        let gateway = makeGateway([Limit(name: "sends", per: [.sender], count: 1, period: .seconds(60))])
        gateway.journal.fail(JournalUnavailable("full"))
        #expect(await gateway.serve(send()).code == .journalUnavailable)
        #expect(register.insertions == 1 && register.count == 0)
        gateway.journal.fail(nil)
        #expect(await gateway.serve(send()).code == .rateLimited)
        #expect(register.insertions == 2 && register.count == 0)
        #expect(await makeGateway().serve(send()).status == 200)
        #expect(register.count == 1)
    }

    @Test("Sends without a key and other calls do not use the register")
    func unkeyed() async {
        let gateway = makeGateway()
        register.fail(LedgerUnavailable("stopped"))
        #expect(await gateway.serve(send(key: .absent)).status == 200)
        #expect(await gateway.serve(Sample.whoami).status == 200)
        #expect(register.insertions == 0)
    }

    @Test("A stored response that cannot be read counts as an unknown result")
    func unreadable() async {
        let gateway = makeGateway()
        #expect(await gateway.serve(send()).status == 200)
        register.replaceResponses(with: [0])
        #expect(await gateway.serve(send()).code == .backendTimedOut)
        #expect(gateway.backend.requests.count == 1)
    }

    @Test("A send that the gateway did not make because it was out of date may be sent again")
    func outOfDate() {
        guard case .notSent = IdempotentResult(.ledgerUnavailable, .empty(503)) else {
            Issue.record("the send counts as made")
            return
        }
    }

    @Test("A response is read as it was stored, and no other bytes are read")
    func storedForm() throws {
        let problem = ProblemDocument.response(Rejection(.backendFailed, ""))
        var accepted = Response.empty(200)
        accepted.fields = [Response.Field("Location", "/x/\u{FC}"), .noStore]
        for response in [Response.empty(200), accepted, problem] {
            let bytes = try #require(response.storedForm)
            #expect(Response(storedForm: bytes) == response)
            for length in 0..<bytes.count { #expect(Response(storedForm: Array(bytes.prefix(length))) == nil) }
            #expect(Response(storedForm: bytes + [0]) == nil)
        }
        var generator = SplitMix(seed: 1)
        for _ in 0..<10_000 {
            let bytes = (0..<Int.random(in: 0..<24, using: &generator)).map { _ in
                UInt8.random(in: 0...8, using: &generator)
            }
            if let response = Response(storedForm: [1] + bytes) { #expect(response.storedForm == [1] + bytes) }
        }
        var long = Response.empty(200)
        long.body = [UInt8](repeating: 0, count: Response.longestStoredForm)
        #expect(long.storedForm == nil)
    }
}
