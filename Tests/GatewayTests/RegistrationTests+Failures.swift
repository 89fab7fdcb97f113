import GatewayCore
import GatewayTesting
import Testing

@testable import Gateway

/// Tests of failures of the ledger, and of rejections while a claim in it is held.
extension RegistrationTests {
    @Test("A request is rejected when the ledger cannot be read")
    func aRequestIsRejectedWhenTheLedgerCannotBeRead() async {
        for request in [Sample.create, Sample.put(), Sample.delete] {
            let gateway = TestGateway()
            gateway.ledger.fail(at: .begin)
            let response = await gateway.expect(.ledgerUnavailable, for: request)
            #expect(response.status == 503 && response.values("Retry-After") == ["5"])
            #expect(gateway.backend.requests.isEmpty)
        }
    }

    @Test("A request is rejected when too many requests wait for its device")
    func aRequestIsRejectedWhenTooManyRequestsWaitForItsDevice() async {
        for request in [Sample.create, Sample.put(), Sample.delete] {
            let gateway = TestGateway()
            gateway.ledger.fail(at: .beginFull)
            let response = await gateway.serve(request)
            #expect(response.code == .overloaded && response.status == 503)
            #expect(response.fields.contains { $0.name == "Retry-After" && $0.value == "1" })
            #expect(gateway.backend.requests.isEmpty)
        }
    }

    @Test("A call fails when the ledger cannot look up the id")
    func aCallFailsWhenTheLedgerCannotLookUpTheID() async throws {
        for request in [Sample.create, Sample.put()] {
            let gateway = TestGateway()
            gateway.ledger.fail(at: .isHeld)
            let response = await gateway.serve(request)
            #expect(response.status == 503 && response.code == .ledgerUnavailable)
            #expect(response.fields.contains { $0.name == "Retry-After" })
            #expect(gateway.backend.requests.count == 1)
            #expect(try outcome(gateway).result == "ledger-failed")
        }
    }

    @Test("A failed write of the ledger is recorded as the outcome")
    func aFailedWriteOfTheLedgerIsRecordedAsTheOutcome() async throws {
        for (request, decision) in [
            (Sample.create, LedgerDecision.queryWithHandle), (Sample.put(), .own(Sample.other)),
            (Sample.delete, .owned(Sample.other)),
        ] {
            let gateway = TestGateway(deciding: { _ in decision })
            gateway.ledger.fail(at: .finish)
            let response = await gateway.serve(request)
            #expect(response.status == 503 && response.code == .ledgerUnavailable)
            #expect(response.fields.contains { $0.name == "Retry-After" })
            #expect(try outcome(gateway).result == "ledger-failed")
        }
    }

    @Test("The claim in the ledger is released when a later phase rejects the call")
    func aRejectionReleasesTheClaim() async {
        for (request, decision) in [
            (Sample.create, LedgerDecision.queryWithHandle), (Sample.put(), .notRegistered),
            (Sample.delete, .owned(Sample.other)),
        ] {
            let limited = TestGateway(
                adjust: { rules in
                    let limiter = Limiter(
                        [Limit(name: "calls", per: [.user], count: 1, period: .seconds(60))],
                        clocks: ManualClock().clocks)
                    _ = try? limiter.admit(
                        Identity(user: alice, authenticator: "test"), at: .documentation, sending: nil)
                    rules.limiter = limiter
                }, deciding: { _ in decision })
            await limited.expect(.rateLimited, for: request)
            #expect(limited.timeline.words == ["claimed", "released", "refusal"])

            let unrecorded = TestGateway(deciding: { _ in decision })
            unrecorded.journal.fail(JournalUnavailable("disk full"))
            let response = await unrecorded.expect(.journalUnavailable, for: request)
            #expect(response.values("Retry-After") == ["5"])
            #expect(unrecorded.timeline.words == ["claimed", "record-refused", "released", "refusal"])
        }
    }
}
