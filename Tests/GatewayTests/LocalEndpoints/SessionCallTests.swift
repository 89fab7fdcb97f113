import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import Gateway

@Suite("The endpoints for a user's sessions and devices")
struct SessionCallTests {
    @Test("A user lists and ends own sessions only")
    func sessions() async throws {
        let bench = TokenFixture()
        let phone = try await bench.login(device: "phone")
        bench.clock.advance(by: .seconds(1))
        let tablet = try await bench.login(device: "tablet")
        let bobs = try await bench.login("bob")
        let list = try #require(await bench.call("GET /auth/sessions", token: "token-1").json?["sessions"])
        guard case .array(let entries) = list else { throw NoList() }
        #expect(entries.map { $0["device"]?.string } == ["tablet", "phone"])
        #expect(entries.map { $0["current"] } == [.bool(false), .bool(true)])
        #expect(entries.map { $0["id"]?.string } == [tablet.text, phone.text])
        // The ids of another user's session, an unknown session and an ended session get the same response.
        var rejections: [Response] = []
        for id in [bobs.text, SessionID(random: (99, 99)).text] {
            rejections.append(await bench.call("DELETE /auth/sessions/\(id)", as: "alice"))
        }
        #expect(await bench.call("DELETE /auth/sessions/\(phone)", as: "alice").status == 204)
        rejections.append(await bench.call("DELETE /auth/sessions/\(phone)", as: "alice"))
        #expect(Set(rejections.map(\.withoutLimits)).count == 1)
        #expect(rejections[0].code == .notOwner)
        #expect(await bench.call("GET /auth/whoami", token: "token-1").code == .credentialsRejected)
        #expect(await bench.call("GET /auth/whoami", token: "token-2").status == 200)
        #expect(await bench.call("GET /auth/whoami", token: "token-3").status == 200)
        #expect(await bench.call("DELETE /auth/sessions/..", as: "alice").code == .malformedRequest)
        #expect(await bench.call("DELETE /auth/sessions/x", as: "alice").code == .malformedRequest)
        #expect(await bench.call("GET /auth/sessions/\(tablet)", as: "alice").code == .methodNotAllowed)
    }

    private struct NoList: Error {}

    @Test("A user lists own live devices and deletes one by its id")
    func registrations() async throws {
        let bench = TokenFixture(deciding: { request in
            if case .delete(_, let label) = request { .owned(label) } else { .notOwned }
        })
        let (alice, bob) = (UserName(canonical: "alice")!, UserName(canonical: "bob")!)
        func registration(
            _ id: RegistrationID, _ owner: UserName, _ state: OwnedRegistration.State
        ) -> OwnedRegistration {
            OwnedRegistration(
                id: id, owner: owner, service: .apns, state: state, created: WallTime(seconds: 1_795_000_000),
                lastSeen: WallTime(seconds: 1_795_000_060), ownershipTransfers: 2)
        }
        bench.ledger.setOwned([
            registration(Sample.label, alice, .live), registration(Sample.other, alice, .deleting),
            registration(Sample.fresh, bob, .live),
        ])
        let list = await bench.call("GET /auth/registrations", as: "alice")
        #expect(
            list.text
                == #"{"registrations":[{"id":"\#(Sample.label)","platform":"apns","#
                + #""created":"2026-11-18T11:06:40.000000Z","last_seen":"2026-11-18T11:07:40.000000Z","hand_overs":2}]}"#
        )
        #expect(bench.journal.records.isEmpty)
        #expect(await bench.call("DELETE /auth/registrations/\(Sample.label)", as: "alice").status == 200)
        #expect(bench.backend.requests.map(\.method) == ["DELETE"])
        #expect(await bench.call("DELETE /auth/registrations/x", as: "alice").code == .malformedRequest)
        #expect(await bench.call("PUT /auth/registrations/\(Sample.label)", as: "alice").code == .methodNotAllowed)
    }

    @Test(
        "A device is deleted by the id in the gateway's own path, for every location of ids in the profile",
        arguments: [[.query], [.path], [.path, .query]] as [Set<BackendProfile.IDLocation>])
    func ownPath(places: Set<BackendProfile.IDLocation>) async throws {
        let gateway = TestGateway(
            adjust: { $0.client.idLocations = places }, deciding: { _ in .owned(Sample.other) })
        let response = await gateway.serve(ReceivedRequest("DELETE /auth/registrations/\(Sample.other)", as: "alice"))
        #expect(response.status == 200)
        #expect(
            gateway.ledger.requests == [.delete(user: try #require(UserName(canonical: "alice")), label: Sample.other)])
        #expect(gateway.backend.requests.map(\.method) == ["DELETE"])
        for path in ["\(Sample.other)?id=\(Sample.other)", "?id=\(Sample.other)", "x"] {
            let response = await gateway.serve(ReceivedRequest("DELETE /auth/registrations/\(path)", as: "alice"))
            #expect(response.status >= 400, "\(path)")
        }
        #expect(gateway.backend.requests.count == 1)
    }
}
