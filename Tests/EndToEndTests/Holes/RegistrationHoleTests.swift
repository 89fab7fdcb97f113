import Foundation
import GatewayTesting
import NotifyBackend
import Testing

/// What `PhoneTests` does not show of registrations: calls that no phone makes.
@Suite("Holes of registrations") struct RegistrationHoleTests {
    @Test(
        "Nobody deletes or overwrites what is another's, and an id alone is worth nothing", .shows(.v9, .v10),
        arguments: BackendFlavor.allCases)
    func foreignIDs(flavor: BackendFlavor) async throws {
        try await HoleBench.run(flavor) { bench async throws in
            let invented = try await bench.direct.registerDirectly("eve", flavor, HoleBench.eves, id: "7-7-7")
            #expect(invented.status == 200)
            let deleted = try await bench.direct.call("DELETE", bench.target(id: "7-7-7"), as: "bob")
            #expect(deleted.status == 200 && bench.hub.registrations().count == 1)

            let bobs = try #require(bench.hub.registrations().first)
            for id in [bobs.id, "7-7-7"] {
                let refused = try await bench.gateway.client.call("DELETE", "/api/register/\(id)", as: "eve")
                #expect(refused.status == 403 && refused.problem == "not-owner", "\(id)")
                let taken = try await bench.gateway.client.call(
                    "PUT", "/api/register/\(id)", as: "eve", body: HoleBench.registration(HoleBench.eves))
                // The phone is registered, but under an id that the backend gave.
                #expect(taken.status == 200)
                let eves = try #require(bench.hub.registrations().first { $0.handle == HoleBench.eves })
                #expect(![bobs.id, "7-7-7"].contains(eves.id))
                #expect(bench.hub.registrations().contains(bobs))
            }
            #expect(bench.hub.registrations().count == 2)
        }
    }

    @Test("A handle neither reveals nor deletes what is another's", .shows(.v11), arguments: BackendFlavor.allCases)
    func revealedIDs(flavor: BackendFlavor) async throws {
        try await HoleBench.run(flavor) { bench async throws in
            let bobs = try #require(bench.hub.registrations().first)
            let target = "/api/register?handle=\(HoleBench.bobs)"
            #expect(try await bench.direct.call("POST", target, as: "eve").text.contains(bobs.id))
            let asked = try await bench.gateway.client.call("POST", target, as: "eve")
            #expect(asked.status == 200 && !asked.text.contains(bobs.id))
            #expect(bench.hub.registrations() == [bobs])
        }
    }

    @Test("A handle is a handle, and no filter", .shows(.v12), arguments: BackendFlavor.allCases)
    func filters(flavor: BackendFlavor) async throws {
        try await HoleBench.run(flavor) { bench async throws in
            for number in 1...3 {
                let handle = String(repeating: "D\(number)", count: 32)
                #expect(try await bench.gateway.client.register("carol", "apns", handle).status == 200)
            }
            let before = bench.hub.registrations()
            for handle in ["x%27%20or%20channeluri%20ne%20%27", "%27", "x'y", "ab%00cd", "x%0D%0Ay"] {
                let refused = try await bench.gateway.client.call("POST", "/api/register?handle=\(handle)", as: "eve")
                #expect(refused.status == 400, "\(handle)")
                #expect(["handle-unusable", "malformed-request"].contains(refused.problem), "\(handle)")
            }
            let put = try await bench.gateway.client.call(
                "PUT", "/api/register/1-2-3", as: "eve", body: HoleBench.registration("x' or channeluri ne '"))
            #expect(put.status == 400 && put.problem == "handle-unusable")
            #expect(bench.hub.registrations() == before)
            let widened = "/api/register?handle=x%27%20or%20channeluri%20ne%20%27"
            #expect(try await bench.direct.call("POST", widened, as: "eve").status == 200)
            #expect(bench.hub.registrations().count == 1)
        }
    }

    @Test("An id is two numbers and a part, and never a path", .shows(.v13), arguments: BackendFlavor.allCases)
    func paths(flavor: BackendFlavor) async throws {
        try await HoleBench.run(flavor) { bench async throws in
            let before = bench.hub.registrations()
            for id in [
                "..", "%2e%2e", "%2E.", ".", "1-2-3/..", "..%2f..", "1-2", "1-2-3-4", "x", "1-2-3;x", "", "-1-2-3",
            ] {
                for target in ["/api/register/\(id)", "/api/register?id=\(id)"] {
                    for method in ["DELETE", "PUT"] {
                        let body = method == "PUT" ? HoleBench.registration(HoleBench.eves) : nil
                        let refused = try await bench.gateway.client.call(method, target, as: "eve", body: body)
                        #expect([400, 404].contains(refused.status), "\(method) \(target): \(refused.status)")
                    }
                }
            }
            #expect(bench.hub.registrations() == before)
            guard flavor != .net6 else { return }
            // net6 has no such route.
            #expect(try await bench.direct.call("DELETE", "/api/register?id=..", as: "eve").status == 200)
            #expect(bench.hub.registrations().isEmpty)
        }
    }
}
