import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite struct RegistrationTests {
    let alice = UserName(canonical: "alice")!

    func lines(_ gateway: TestGateway) -> [String] {
        gateway.backend.requests.map { "\($0.method) \($0.target)" }
    }

    func outcome(_ gateway: TestGateway) throws -> JournalRecord {
        #expect(gateway.journal.records(.intent).count == 1)
        #expect(gateway.journal.records(.outcome).count == 1)
        #expect(gateway.ledger.openClaims == 0)
        return try #require(gateway.journal.records(.outcome).first)
    }

    @Test(
        "A reservation has one response format for every backend format",
        arguments: ["\"11-22-3\"", "11-22-3", " \"11-22-3\"\r\n", "<string xmlns=\"x\">11-22-3</string>"])
    func aReservationHasOneResponseFormatForEveryBackendFormat(_ body: String) async throws {
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

    @Test("A handle of another user is not forwarded to the backend")
    func aHandleOfAnotherUserIsNotForwardedToTheBackend() async throws {
        let gateway = TestGateway(deciding: { _ in .queryWithoutHandle })
        #expect(await gateway.serve(Sample.create).status == 200)
        #expect(lines(gateway) == ["POST /api/register"])
        #expect(gateway.ledger.changes == [.reserved(ScriptedBackend.givenID, handle: nil)])
    }

    @Test("An id that the ledger holds for another handle is not returned")
    func anIDThatTheLedgerHoldsForAnotherHandleIsNotReturned() async throws {
        let gateway = TestGateway()
        gateway.ledger.setHeldIDs([Sample.other])
        gateway.backend.queue(.status(200, "\"11-22-3\""), .status(200, "\"44-55-6\""))
        #expect(await gateway.serve(Sample.create).text == "\"44-55-6\"")
        #expect(lines(gateway) == ["POST /api/register?handle=\(Sample.apns)", "POST /api/register"])
        // The backend does not associate this id with the handle, so the ledger must not either.
        #expect(gateway.ledger.changes == [.reserved(Sample.fresh, handle: nil)])
    }

    @Test(
        "A response without a valid id is a backend failure",
        arguments: ["", "..", "null", "{}", "\"11-22\"", "<html/>", "11-22-3/../.."])
    func aResponseWithoutAValidIDIsABackendFailure(_ body: String) async throws {
        let gateway = TestGateway()
        gateway.backend.queue(.status(200, body))
        #expect(await gateway.serve(Sample.create).code == .backendFailed)
        #expect(gateway.ledger.changes.isEmpty)
        #expect(try outcome(gateway).result == "backend-failed")
    }

    @Test(
        "An update uses the ledger's registration and ignores the id of the request",
        arguments: [
            (LedgerDecision.own(Sample.other), "register-update"), (.rotation(Sample.other), "register-update"),
            (.ownershipTransfer(Sample.other, from: UserName(canonical: "bob")!), "hand-over"),
        ])
    func anUpdateUsesTheLedgersRegistration(_ decision: LedgerDecision, _ action: String) async throws {
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

    @Test(
        "An update returns the success status of the platform's clients",
        arguments: [
            ("apns", Sample.apns, 200), ("gcm", Sample.fcm, 200), ("wns", Sample.wns, 202),
            ("mpns", "http://a.notify.live.net/", 202),
        ])
    func anUpdateReturnsTheSuccessStatusOfThePlatformsClients(_ platform: String, _ handle: String, _ status: Int) async
    {
        for decision in [LedgerDecision.own(Sample.other), .notRegistered] {
            let gateway = TestGateway(deciding: { _ in decision })
            #expect(
                await gateway.serve(Sample.put(Sample.body(platform, handle))).withoutLimits == Response(status: status)
            )
        }
    }

    @Test("A device that registered before the gateway was deployed keeps its id")
    func devicesFromBeforeTheGatewayKeepTheirID() async throws {
        let gateway = TestGateway()
        gateway.backend.queue(.status(200, "\"\(Sample.label)\""))
        #expect(await gateway.serve(Sample.put()).status == 200)
        #expect(lines(gateway) == ["POST /api/register?handle=\(Sample.apns)", "PUT /api/register/\(Sample.label)"])
        #expect(gateway.ledger.changes == [.registered(Sample.label, replacing: nil)])
        #expect(try outcome(gateway).result == "adopted")
    }

    @Test("An update with a foreign id never touches the foreign registration")
    func anUpdateWithAForeignIDNeverTouchesTheForeignRegistration() async throws {
        let gateway = TestGateway()
        gateway.backend.queue(.status(200, "\"44-55-6\""))
        #expect(await gateway.serve(Sample.put()).status == 200)
        #expect(lines(gateway) == ["POST /api/register?handle=\(Sample.apns)", "PUT /api/register/44-55-6"])
        #expect(gateway.ledger.changes == [.registered(Sample.fresh, replacing: nil)])
        #expect(try outcome(gateway).result == "accepted")
    }

    @Test("An adopted id that the ledger holds for another handle is not used")
    func anAdoptedIDThatTheLedgerHoldsForAnotherHandleIsNotUsed() async throws {
        let gateway = TestGateway()
        gateway.ledger.setHeldIDs([Sample.label])
        gateway.backend.queue(.status(200, "\"\(Sample.label)\""), .status(200, "\"44-55-6\""))
        #expect(await gateway.serve(Sample.put()).status == 200)
        #expect(
            lines(gateway) == [
                "POST /api/register?handle=\(Sample.apns)", "POST /api/register", "PUT /api/register/44-55-6",
            ])
        #expect(gateway.ledger.changes == [.registered(Sample.fresh, replacing: nil)])
    }

    @Test("A lost registration is created again", arguments: [404, 410, 500])
    func aLostRegistrationIsCreatedAgain(_ status: Int) async throws {
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

    @Test("Recreating a registration does not use an id that is held for another handle")
    func recreatingDoesNotUseAHeldID() async throws {
        let gateway = TestGateway(deciding: { _ in .own(Sample.other) })
        gateway.ledger.setHeldIDs([Sample.label])
        gateway.backend.queue(.status(404), .status(200, "\"\(Sample.label)\""), .status(200, "\"44-55-6\""))
        #expect(await gateway.serve(Sample.put()).status == 200)
        #expect(lines(gateway).last == "PUT /api/register/44-55-6")
    }

    @Test("A new id that is lost at once is replaced once") func aNewIDThatIsLostAtOnceIsReplacedOnce() async throws {
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

    /// A second failure ends the call with 502. A status that does not mean "gone" does so at once.
    @Test(
        "A registration that fails twice ends with 502",
        arguments: [
            ([404, 500], []), ([404, 404], []), ([500, 200, 500], [.unresolved(Sample.fresh)]),
            ([500, 200, 404], [.undone(RegistrationAttempt(id: Sample.fresh, undo: .remove))]), ([400], []),
            ([401], []),
            ([503], [.unresolved(Sample.other)]), ([302], [.unresolved(Sample.other)]),
        ] as [([Int], [LedgerChange])])
    func aRegistrationThatFailsTwiceEndsWith502(_ statuses: [Int], _ changes: [LedgerChange]) async throws {
        let gateway = TestGateway(deciding: { _ in .own(Sample.other) })
        for status in statuses { gateway.backend.queue(.status(status, "\"44-55-6\"")) }
        let response = await gateway.serve(Sample.put())
        #expect(response.code == .backendFailed && response.status == 502)
        #expect(gateway.backend.requests.count == statuses.count)
        #expect(gateway.ledger.changes == changes)
        let record = try outcome(gateway)
        #expect(record.result == "backend-failed" && record.status == statuses.last)
    }

    @Test("An ownership transfer above the limit is rejected") func anOwnershipTransferAboveTheLimitIsRejected() async {
        let gateway = TestGateway(deciding: { _ in .tooManyOwnershipTransfers })
        let response = await gateway.expect(.registrationLimit, for: Sample.put())
        #expect(response.status == 429)
        #expect(response.values("Retry-After") == ["3600"])
        #expect(gateway.journal.records(.rejection).first?.facts?.action == .ownershipTransfer)
    }

    @Test("The policy can reject ownership transfers") func thePolicyCanRejectOwnershipTransfers() async {
        let gateway = TestGateway(
            adjust: { $0.policy.ownershipTransfer = .refuse },
            deciding: { _ in .ownershipTransfer(Sample.other, from: UserName(canonical: "bob")!) })
        await gateway.expect(.notOwner, for: Sample.put())
        #expect(gateway.timeline.words == ["claimed", "released", "refusal"])
    }
}
