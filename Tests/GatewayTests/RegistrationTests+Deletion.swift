import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

/// Tests of the deletion of registrations.
extension RegistrationTests {
    @Test("A deleted registration is removed from the ledger")
    func aDeletedRegistrationIsRemovedFromTheLedger() async throws {
        for status in [200, 204, 404, 410] {
            let gateway = TestGateway(deciding: { _ in .owned(Sample.other) })
            gateway.backend.queue(.status(status))
            #expect(await gateway.serve(Sample.delete).withoutLimits == Response(status: 200))
            #expect(lines(gateway) == ["DELETE /api/register/11-22-3"])
            #expect(gateway.ledger.changes == [.deleted(Sample.other)])
            #expect(try outcome(gateway).result == "accepted")
        }
    }

    @Test("A foreign and an unknown registration get the same response")
    func aForeignAndAnUnknownRegistrationGetTheSameResponse() async {
        let gateway = TestGateway(deciding: { _ in .notOwned })
        await gateway.expect(.notOwner, for: Sample.delete)
        #expect(gateway.journal.records(.rejection).map(\.result) == ["not-owner"])
    }

    @Test("A registration that the backend does not delete is overwritten")
    func undeletableRegistrationsAreOverwritten() async throws {
        let gateway = TestGateway(deciding: { _ in .owned(Sample.other) })
        gateway.backend.queue(.status(500), .status(200))
        #expect(await gateway.serve(Sample.delete).withoutLimits == Response(status: 200))
        #expect(lines(gateway) == ["DELETE /api/register/11-22-3", "PUT /api/register/11-22-3"])
        let put = try #require(gateway.backend.requests.last)
        let body = try JSONParser().parse(put.body.span)
        #expect(body["Tags"] == .array([]))
        #expect(body["Handle"]?.string != Sample.apns)
        // The owner is a user that cannot exist, because the backend derives the username tag from it.
        let pair = try #require(put.values("Authorization").first?.dropFirst("Basic ".count))
        let decoded = Base64.decode(Array(pair.utf8).span, .standard) ?? []
        #expect(decoded.starts(with: "gone-".utf8) && decoded.count == 2 * (5 + 64) + 1)
        #expect(gateway.ledger.changes == [.deleted(Sample.other)])
        #expect(try outcome(gateway).result == "neutralised")
    }

    @Test(
        "A registration that can be neither deleted nor overwritten stays marked for deletion",
        arguments: [[500, 500], [500, 404], [500, 400], [403], [503]])
    func aFailedDeletionStaysMarked(_ statuses: [Int]) async throws {
        let gateway = TestGateway(deciding: { _ in .owned(Sample.other) })
        for status in statuses { gateway.backend.queue(.status(status)) }
        #expect(await gateway.serve(Sample.delete).code == .backendFailed)
        #expect(gateway.backend.requests.count == statuses.count)
        // After a 5xx the push service may act later.
        let isUnanswered = try #require(statuses.last) >= 500
        #expect(
            gateway.ledger.changes == [isUnanswered ? .deletionUnanswered(Sample.other) : .deleting(Sample.other)])
        #expect(try outcome(gateway).result == "backend-failed")
    }
}
