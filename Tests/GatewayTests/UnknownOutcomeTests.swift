import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Registrations whose outcome is unknown")
struct UnknownOutcomeTests {
    @Test("The ledger records an update before the backend receives it")
    func preparedFirst() async throws {
        let gateway = TestGateway()
        #expect(await gateway.serve(Sample.put()).status == 200)
        #expect(
            gateway.timeline.words == [
                "claimed", "recorded", "exchanged", "prepared", "exchanged", "changed", "released", "outcome",
            ])
        // An update of a registration that the ledger already has for this user needs no additional write.
        let known = TestGateway(deciding: { _ in .own(Sample.other) })
        #expect(await known.serve(Sample.put()).status == 200)
        #expect(known.timeline.words == ["claimed", "recorded", "exchanged", "changed", "released", "outcome"])
    }

    @Test(
        "A result that does not tell whether the backend registered the device leaves the registration unresolved",
        arguments: [
            (BackendResult.broken("cut"), RejectionCode.backendFailed), (.timedOut, .backendTimedOut),
            (.gatewayStopped, .backendFailed), (.status(502), .backendFailed), (.status(503), .backendFailed),
        ])
    func inDoubt(_ response: BackendResult, _ code: RejectionCode) async throws {
        for decision in [
            LedgerDecision.notRegistered, .rotation(ScriptedBackend.givenID), .own(ScriptedBackend.givenID),
            .ownershipTransfer(ScriptedBackend.givenID, from: UserName(canonical: "bob")!),
        ] {
            let gateway = TestGateway(
                answering: { $0.method == "PUT" ? response : await ScriptedBackend.alwaysSucceeds($0) },
                deciding: { _ in decision })
            #expect(await gateway.serve(Sample.put()).code == code)
            #expect(gateway.ledger.changes == [.unresolved(ScriptedBackend.givenID)])
            #expect(gateway.ledger.openClaims == 0)
            #expect(gateway.journal.records(.outcome).first?.facts?.registration == ScriptedBackend.givenID)
        }
    }

    @Test(
        "A result that proves that the backend did not register the device leaves nothing unresolved",
        arguments: [BackendResult.status(400), .status(401), .unreachable("refused"), .overloaded, .circuitOpen])
    func surelyNot(_ response: BackendResult) async throws {
        let gateway = TestGateway(
            answering: { $0.method == "PUT" ? response : await ScriptedBackend.alwaysSucceeds($0) })
        #expect(await gateway.serve(Sample.put()).status >= 500)
        #expect(
            gateway.ledger.changes == [
                .undone(RegistrationAttempt(id: ScriptedBackend.givenID, undo: .remove))
            ])
    }

    @Test("A ledger that cannot be written stops the update before the backend receives it")
    func unwritable() async throws {
        let gateway = TestGateway()
        gateway.ledger.fail(at: .prepare)
        let response = await gateway.serve(Sample.put())
        #expect(
            response.code == .ledgerUnavailable && response.status == 503 && response.values("Retry-After") == ["1"])
        #expect(gateway.backend.requests.map(\.method) == ["POST"])
        #expect(gateway.journal.records(.outcome).map(\.result) == ["ledger-unavailable"])
        #expect(gateway.ledger.openClaims == 0)
    }

    @Test("An id that the backend has for this handle and the ledger has for another one is marked as outdated")
    func outdated() async throws {
        let gateway = TestGateway()
        gateway.ledger.setHeldIDs([Sample.other])
        gateway.backend.queue(.status(200, "\"11-22-3\""), .status(200, "\"44-55-6\""))
        #expect(await gateway.serve(Sample.put()).status == 200)
        #expect(gateway.ledger.outdated == [Sample.other])
    }

    @Test("A deletion that the backend's update cannot confirm ends with 502 and is repeated later")
    func unconfirmed() async throws {
        let gateway = TestGateway(.net6, deciding: { _ in .owned(Sample.other) })
        gateway.backend.queue(.status(500), .status(200))
        let response = await gateway.serve(Sample.delete)
        #expect(response.code == .backendFailed && response.status == 502)
        #expect(gateway.backend.requests.map(\.method) == ["DELETE", "PUT"])
        #expect(gateway.ledger.changes == [.unconfirmed(Sample.other)])
        #expect(gateway.journal.records(.outcome).map(\.result) == ["delete-unconfirmed"])
        // The backend's own response to the deletion confirms it.
        for status in [200, 404, 410] {
            let plain = TestGateway(.net6, deciding: { _ in .owned(Sample.other) })
            plain.backend.queue(.status(status))
            #expect(await plain.serve(Sample.delete).status == 200)
            #expect(plain.ledger.changes == [.deleted(Sample.other)])
        }
    }
}
