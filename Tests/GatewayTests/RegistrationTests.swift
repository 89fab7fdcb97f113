import GatewayCore
import GatewayTesting
import Testing

@testable import Gateway

@Suite struct RegistrationTests {
    private let alice = UserName(canonical: "alice")!

    private func lines(_ gateway: TestGateway) -> [String] {
        gateway.backend.requests.map { "\($0.method) \($0.target)" }
    }

    private func outcome(_ gateway: TestGateway) throws -> JournalRecord {
        #expect(gateway.journal.records(.intent).count == 1)
        #expect(gateway.journal.records(.outcome).count == 1)
        #expect(gateway.ledger.openClaims == 0)
        return try #require(gateway.journal.records(.outcome).first)
    }

    @Test(arguments: ["\"11-22-3\"", "11-22-3", " \"11-22-3\"\r\n", "<string xmlns=\"x\">11-22-3</string>"])
    func aReservationIsAnsweredInExactlyOneForm(_ body: String) async throws {
        let gateway = TestGateway()
        gateway.backend.queue(.status(200, body))
        let response = await gateway.serve(Sample.create)
        #expect(
            response.withoutLimits
                == Response(status: 200, contentType: "application/json", body: Array("\"11-22-3\"".utf8)))
        #expect(lines(gateway) == ["POST /api/register?handle=\(Sample.apns)"])
        #expect(gateway.ledger.changes == [.reserved(Sample.other, handle: Sample.handle())])
        #expect(gateway.timeline.words == ["claimed", "recorded", "exchanged", "changed", "released", "outcome"])
        let record = try outcome(gateway)
        #expect(record.result == "accepted" && record.status == 200)
        #expect(record.facts?.registration == Sample.other)
    }

    @Test func aHandleThatIsAnothersIsNotShownToTheBackend() async throws {
        let gateway = TestGateway(deciding: { _ in .queryWithoutHandle })
        #expect(await gateway.serve(Sample.create).status == 200)
        #expect(lines(gateway) == ["POST /api/register"])
        #expect(gateway.ledger.changes == [.reserved(ScriptedBackend.givenID, handle: nil)])
    }

    @Test func anIDThatIsHeldForAnotherHandleIsNotGivenOut() async throws {
        let gateway = TestGateway()
        gateway.ledger.hold([Sample.other])
        gateway.backend.queue(.status(200, "\"11-22-3\""), .status(200, "\"44-55-6\""))
        #expect(await gateway.serve(Sample.create).text == "\"44-55-6\"")
        #expect(lines(gateway) == ["POST /api/register?handle=\(Sample.apns)", "POST /api/register"])
        // The backend does not know that id by the handle, so the ledger must not either.
        #expect(gateway.ledger.changes == [.reserved(Sample.fresh, handle: nil)])
    }

    @Test(arguments: ["", "..", "null", "{}", "\"11-22\"", "<html/>", "11-22-3/../.."])
    func whatIsNoIDIsAFailureOfTheBackend(_ body: String) async throws {
        let gateway = TestGateway()
        gateway.backend.queue(.status(200, body))
        #expect(await gateway.serve(Sample.create).code == .backendFailed)
        #expect(gateway.ledger.changes.isEmpty)
        #expect(try outcome(gateway).result == "backend-failed")
    }

    @Test(arguments: [
        (LedgerDecision.own(Sample.other), "register-update"), (.rotation(Sample.other), "register-update"),
        (.ownershipTransfer(Sample.other, from: UserName(canonical: "bob")!), "hand-over"),
    ])
    func theLedgersRegistrationIsUsedWhateverTheLabelSays(_ decision: LedgerDecision, _ action: String) async throws {
        let gateway = TestGateway(deciding: { _ in decision })
        let response = await gateway.serve(
            Sample.put(Sample.body(tags: "[\"topic:b\",\"topic:a\",\"username:alice\"]")))
        #expect(response.withoutLimits == Response(status: 200))
        #expect(lines(gateway) == ["PUT /api/register/11-22-3"])
        #expect(
            gateway.backend.requests.first.map { String(decoding: $0.body, as: UTF8.self) }
                == "{\"Platform\":\"apns\",\"Handle\":\"\(Sample.apns)\",\"Tags\":[\"topic:a\",\"topic:b\"]}")
        let account = Account(user: alice, login: LoginName("alice"), authenticator: FixedAuthenticator.name)
        #expect(
            gateway.ledger.requests
                == [.update(user: alice, label: Sample.label, handle: Sample.handle(), account: account)])
        #expect(gateway.ledger.changes == [.registered(Sample.other, replacing: nil)])
        let record = try outcome(gateway)
        #expect(record.facts?.action?.rawValue == action)
        #expect(record.facts?.registration == Sample.other)
        if action == "hand-over" { #expect(record.facts?.recipient?.text == "bob") }
    }

    @Test(arguments: [
        ("apns", Sample.apns, 200), ("gcm", Sample.fcm, 200), ("wns", Sample.wns, 202),
        ("mpns", "http://a.notify.live.net/", 202),
    ])
    func theStatusIsWhatThePlatformsClientsTakeForSuccess(_ platform: String, _ handle: String, _ status: Int) async {
        for decision in [LedgerDecision.own(Sample.other), .notRegistered] {
            let gateway = TestGateway(deciding: { _ in decision })
            #expect(
                await gateway.serve(Sample.put(Sample.body(platform, handle))).withoutLimits == Response(status: status)
            )
        }
    }

    @Test func aDeviceFromBeforeTheGatewayKeepsItsID() async throws {
        let gateway = TestGateway()
        gateway.backend.queue(.status(200, "\"\(Sample.label)\""))
        #expect(await gateway.serve(Sample.put()).status == 200)
        #expect(lines(gateway) == ["POST /api/register?handle=\(Sample.apns)", "PUT /api/register/\(Sample.label)"])
        #expect(gateway.ledger.changes == [.registered(Sample.label, replacing: nil)])
        #expect(try outcome(gateway).result == "adopted")
    }

    @Test func whatAForeignLabelNamesIsNeverTouched() async throws {
        let gateway = TestGateway()
        gateway.backend.queue(.status(200, "\"44-55-6\""))
        #expect(await gateway.serve(Sample.put()).status == 200)
        #expect(lines(gateway) == ["POST /api/register?handle=\(Sample.apns)", "PUT /api/register/44-55-6"])
        #expect(gateway.ledger.changes == [.registered(Sample.fresh, replacing: nil)])
        #expect(try outcome(gateway).result == "accepted")
    }

    @Test func anAdoptedIDThatIsHeldForAnotherHandleIsNotUsed() async throws {
        let gateway = TestGateway()
        gateway.ledger.hold([Sample.label])
        gateway.backend.queue(.status(200, "\"\(Sample.label)\""), .status(200, "\"44-55-6\""))
        #expect(await gateway.serve(Sample.put()).status == 200)
        #expect(
            lines(gateway) == [
                "POST /api/register?handle=\(Sample.apns)", "POST /api/register", "PUT /api/register/44-55-6",
            ])
        #expect(gateway.ledger.changes == [.registered(Sample.fresh, replacing: nil)])
    }

    @Test(arguments: [404, 410, 500])
    func aLostRegistrationIsHealed(_ status: Int) async throws {
        let gateway = TestGateway(deciding: { _ in .own(Sample.other) })
        gateway.backend.queue(.status(status), .status(200, "\"44-55-6\""), .status(200))
        #expect(await gateway.serve(Sample.put()).withoutLimits == Response(status: 200))
        #expect(
            lines(gateway) == [
                "PUT /api/register/11-22-3", "POST /api/register?handle=\(Sample.apns)", "PUT /api/register/44-55-6",
            ])
        #expect(gateway.ledger.changes == [.registered(Sample.fresh, replacing: Sample.other)])
        let record = try outcome(gateway)
        #expect(record.result == "healed")
        #expect(record.facts?.registration == Sample.fresh)
    }

    @Test func healingDoesNotTakeAnIDThatIsHeldForAnotherHandle() async throws {
        let gateway = TestGateway(deciding: { _ in .own(Sample.other) })
        gateway.ledger.hold([Sample.label])
        gateway.backend.queue(.status(404), .status(200, "\"\(Sample.label)\""), .status(200, "\"44-55-6\""))
        #expect(await gateway.serve(Sample.put()).status == 200)
        #expect(lines(gateway).last == "PUT /api/register/44-55-6")
    }

    @Test func aFreshIDThatIsLostAtOnceIsHealedOnce() async throws {
        let gateway = TestGateway()
        gateway.backend.queue(.status(200, "\"\(Sample.label)\""), .status(500), .status(200, "\"44-55-6\""))
        #expect(await gateway.serve(Sample.put()).status == 200)
        #expect(
            lines(gateway) == [
                "POST /api/register?handle=\(Sample.apns)", "PUT /api/register/\(Sample.label)", "POST /api/register",
                "PUT /api/register/44-55-6",
            ])
        #expect(gateway.ledger.changes == [.registered(Sample.fresh, replacing: nil)])
        #expect(try outcome(gateway).result == "healed")
    }

    /// What fails a second time is a failure; what is not "gone" is one at once.
    @Test(
        arguments: [
            ([404, 500], []), ([404, 404], []), ([500, 200, 500], [.unresolved(Sample.fresh)]),
            ([500, 200, 404], [.undone(RegistrationAttempt(id: Sample.fresh, undo: .forget))]), ([400], []),
            ([401], []),
            ([503], [.unresolved(Sample.other)]), ([302], [.unresolved(Sample.other)]),
        ] as [([Int], [LedgerChange])])
    func aSecondFailureIsOne(_ statuses: [Int], _ changes: [LedgerChange]) async throws {
        let gateway = TestGateway(deciding: { _ in .own(Sample.other) })
        for status in statuses { gateway.backend.queue(.status(status, "\"44-55-6\"")) }
        let response = await gateway.serve(Sample.put())
        #expect(response.code == .backendFailed && response.status == 502)
        #expect(gateway.backend.requests.count == statuses.count)
        #expect(gateway.ledger.changes == changes)
        let record = try outcome(gateway)
        #expect(record.result == "backend-failed" && record.status == statuses.last)
    }

    @Test func tooManyHandOversAreRefused() async {
        let gateway = TestGateway(deciding: { _ in .tooManyOwnershipTransfers })
        let response = await gateway.expect(.registrationLimit, for: Sample.put())
        #expect(response.status == 429)
        #expect(response.values("Retry-After") == ["3600"])
        #expect(gateway.journal.records(.rejection).first?.facts?.action == .ownershipTransfer)
    }

    @Test func policyMayRefuseHandOvers() async {
        let gateway = TestGateway(
            adjust: { $0.policy.ownershipTransfer = .refuse },
            deciding: { _ in .ownershipTransfer(Sample.other, from: UserName(canonical: "bob")!) })
        await gateway.expect(.notOwner, for: Sample.put())
        #expect(gateway.timeline.words == ["claimed", "released", "refusal"])
    }

    @Test func aDeletedRegistrationIsGone() async throws {
        for status in [200, 204, 404, 410] {
            let gateway = TestGateway(deciding: { _ in .owned(Sample.other) })
            gateway.backend.queue(.status(status))
            #expect(await gateway.serve(Sample.delete).withoutLimits == Response(status: 200))
            #expect(lines(gateway) == ["DELETE /api/register/11-22-3"])
            #expect(gateway.ledger.changes == [.deleted(Sample.other)])
            #expect(try outcome(gateway).result == "accepted")
        }
    }

    @Test func foreignAndUnknownRegistrationsAreTheSame() async {
        let gateway = TestGateway(deciding: { _ in .notOwned })
        await gateway.expect(.notOwner, for: Sample.delete)
        #expect(gateway.journal.records(.rejection).map(\.result) == ["not-owner"])
    }

    @Test func whatTheBackendWillNotDeleteIsNeutralised() async throws {
        let gateway = TestGateway(deciding: { _ in .owned(Sample.other) })
        gateway.backend.queue(.status(500), .status(200))
        #expect(await gateway.serve(Sample.delete).withoutLimits == Response(status: 200))
        #expect(lines(gateway) == ["DELETE /api/register/11-22-3", "PUT /api/register/11-22-3"])
        let put = try #require(gateway.backend.requests.last)
        let body = try JSONParser().parse(put.body.span)
        #expect(body["Tags"] == .array([]))
        #expect(body["Handle"]?.string != Sample.apns)
        // In the name of a user that cannot exist, which is what the backend makes the tag of.
        let pair = try #require(put.values("Authorization").first?.dropFirst("Basic ".count))
        let decoded = Base64.decode(Array(pair.utf8).span, .standard) ?? []
        #expect(decoded.starts(with: "gone-".utf8) && decoded.count == 2 * (5 + 64) + 1)
        #expect(gateway.ledger.changes == [.deleted(Sample.other)])
        #expect(try outcome(gateway).result == "neutralised")
    }

    @Test(arguments: [[500, 500], [500, 404], [500, 400], [403], [503]])
    func whatCannotBeDeletedAtAllStaysMarked(_ statuses: [Int]) async throws {
        let gateway = TestGateway(deciding: { _ in .owned(Sample.other) })
        for status in statuses { gateway.backend.queue(.status(status)) }
        #expect(await gateway.serve(Sample.delete).code == .backendFailed)
        #expect(gateway.backend.requests.count == statuses.count)
        #expect(gateway.ledger.changes == [.deleting(Sample.other)])
        #expect(try outcome(gateway).result == "backend-failed")
    }

    @Test func aLedgerThatCannotBeReadRefuses() async {
        for request in [Sample.create, Sample.put(), Sample.delete] {
            let gateway = TestGateway()
            gateway.ledger.fail(at: .begin)
            let response = await gateway.expect(.ledgerUnavailable, for: request)
            #expect(response.status == 503 && response.values("Retry-After") == ["5"])
            #expect(gateway.backend.requests.isEmpty)
        }
    }

    @Test func whereTooManyWaitForADeviceOneMoreIsToldToComeBack() async {
        for request in [Sample.create, Sample.put(), Sample.delete] {
            let gateway = TestGateway()
            gateway.ledger.fail(at: .beginFull)
            let response = await gateway.serve(request)
            #expect(response.code == .overloaded && response.status == 503)
            #expect(response.fields.contains { $0.name == "Retry-After" && $0.value == "1" })
            #expect(gateway.backend.requests.isEmpty)
        }
    }

    @Test func aLedgerThatCannotBeAskedForTheIDFailsTheCall() async throws {
        for request in [Sample.create, Sample.put()] {
            let gateway = TestGateway()
            gateway.ledger.fail(at: .isHeld)
            let response = await gateway.serve(request)
            #expect(response.status >= 500)
            #expect(gateway.backend.requests.count == 1)
            _ = try outcome(gateway)
        }
    }

    @Test func aLedgerThatCannotBeWrittenIsAnOutcome() async throws {
        for (request, decision) in [
            (Sample.create, LedgerDecision.queryWithHandle), (Sample.put(), .own(Sample.other)),
            (Sample.delete, .owned(Sample.other)),
        ] {
            let gateway = TestGateway(deciding: { _ in decision })
            gateway.ledger.fail(at: .finish)
            #expect(await gateway.serve(request).code == .internalError)
            #expect(try outcome(gateway).result == "ledger-failed")
        }
    }

    /// Whatever phase refuses, the place in the ledger is given up.
    @Test func claimsAreReleasedWhenALaterPhaseRefuses() async {
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
            unrecorded.journal.reject(JournalUnavailable("disk full"))
            let response = await unrecorded.expect(.journalUnavailable, for: request)
            #expect(response.values("Retry-After") == ["5"])
            #expect(unrecorded.timeline.words == ["claimed", "record-refused", "released", "refusal"])
        }
    }
}
