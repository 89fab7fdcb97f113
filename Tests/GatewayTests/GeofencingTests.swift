import GatewayCore
import GatewayTesting
import Testing

@testable import Gateway

@Suite("Geofencing")
struct GeofencingTests {
    private static let seattle = FenceName("seattle")!

    /// Creates a gateway where alice may notify everybody, and all others only from Seattle.
    private func gateway(isEnforced: Bool = true) throws -> TestGateway {
        let corners = [(-122.5, 47.5), (-122.2, 47.5), (-122.2, 47.75), (-122.5, 47.75), (-122.5, 47.5)]
        let ring = try LinearRing(corners.map { .init(longitude: $0.0, latitude: $0.1) })
        return TestGateway { rules in
            rules.policy = Policy(
                isEnforced: isEnforced,
                send: [
                    .init(from: .user(UserName(canonical: "alice")!), to: .anyUser),
                    .init(from: .anyUser, to: .anyUser, within: Self.seattle),
                    .init(from: .anyUser, to: .audience(AudienceName("all")!), within: Self.seattle),
                ],
                audiences: [AudienceName("all")!: [UserName(canonical: "bob")!, UserName(canonical: "carol")!]],
                fences: [Self.seattle: Fence([[ring]])])
        }
    }

    private func send(_ position: String, to recipient: String = "bob", as user: String = "eve") -> ReceivedRequest {
        ReceivedRequest("POST /api/notifications?pns=apns&to_tag=\(recipient)\(position)", as: user, json: "\"hi\"")
    }

    private static let inside = "&latitude=47.6&longitude=-122.3"

    @Test("A send from within the fence is recorded with the fence and forwarded without the position")
    func within() async throws {
        let gateway = try gateway()
        #expect(await gateway.serve(send(Self.inside)).status == 200)
        let intent = try #require(gateway.journal.records(.intent).first?.facts)
        #expect(intent.rule == "send[1]" && intent.fence == Self.seattle)
        let request = try #require(gateway.backend.requests.first)
        #expect(request.target == "/api/notifications?pns=apns&to_tag=bob")
        for text in ["\(gateway.backend.requests)", "\(gateway.journal.records)"] {
            #expect(!text.contains("47.6") && !text.contains("122.3") && !text.contains("latitude"))
        }
    }

    @Test(
        "A rule with a fence does not match without a position, and outside of the fence",
        arguments: ["", "&latitude=47.4&longitude=-122.3", "&latitude=-22.3&longitude=47.6"])
    func outside(position: String) async throws {
        let gateway = try gateway()
        await gateway.expect(.sendNotAllowed, for: send(position))
        #expect(gateway.journal.records(.rejection).allSatisfy { $0.facts?.fence == nil })
        await gateway.expect(.sendNotAllowed, for: send(position, to: "audience:all"))
        // An earlier rule without a fence applies everywhere.
        #expect(await gateway.serve(send(position, as: "alice")).status == 200)
        #expect(gateway.journal.records(.intent).first?.facts?.fence == nil)
    }

    @Test("A rule for an audience may have a fence") func audience() async throws {
        let gateway = try gateway()
        #expect(await gateway.serve(send(Self.inside, to: "audience:all")).status == 200)
        let intents = gateway.journal.records(.intent)
        #expect(intents.count == 2 && intents.allSatisfy { $0.facts?.fence == Self.seattle })
    }

    @Test("A policy that is not enforced records no fence for a send outside of it") func shadow() async throws {
        let gateway = try gateway(isEnforced: false)
        #expect(await gateway.serve(send("&latitude=0&longitude=0")).status == 200)
        let intent = try #require(gateway.journal.records(.intent).first?.facts)
        #expect(intent.rule == Policy.wouldReject && intent.fence == nil)
    }

    @Test("Without fences a position is accepted and ignored") func withoutFences() async throws {
        let gateway = TestGateway()
        #expect(await gateway.serve(send(Self.inside)).status == 200)
        let intent = try #require(gateway.journal.records(.intent).first?.facts)
        #expect(intent.rule == "send[0]" && intent.fence == nil)
    }

    @Test(
        "A position is two numbers of JSON's grammar within their ranges",
        arguments: [
            ("latitude=47.6&longitude=-122.3", 47.6, -122.3), ("longitude=-122.3&latitude=47.6", 47.6, -122.3),
            ("LATITUDE=90&Longitude=-180", 90, -180), ("latitude=-90&longitude=180", -90, 180),
            ("latitude=5E-05&longitude=-5.0E-4", 0.00005, -0.0005), ("latitude=-0&longitude=0e0", 0, 0),
            ("latitude=4.76e%2B1&longitude=1E2", 47.6, 100),
            ("latitude=0.10000000000000000000001&longitude=1e-300", 0.1, 1e-300),
        ])
    func valid(parameters: String, latitude: Double, longitude: Double) throws {
        let position = try parse("pns=apns&to_tag=bob&\(parameters)")
        #expect(position == Position(latitude: latitude, longitude: longitude))
    }

    @Test(
        "A malformed, partial or duplicate position is rejected",
        arguments: [
            "latitude=47.6", "longitude=-122.3", "latitude=47.6&longitude=", "latitude=&longitude=",
            "latitude&longitude",
            "latitude=90.000001&longitude=0", "latitude=0&longitude=-180.000001", "latitude=47,6&longitude=-122,3",
            "latitude=nan&longitude=0", "latitude=0&longitude=inf", "latitude=1e400&longitude=0",
            "latitude=0x1p3&longitude=0",
            "latitude=%2B47.6&longitude=0", "latitude=+47.6&longitude=0", "latitude=47.6%20&longitude=0",
            "latitude=.5&longitude=0", "latitude=5.&longitude=0", "latitude=047&longitude=0",
            "latitude=1_0&longitude=0",
            "latitude=47%00&longitude=0", "latitude=%D9%A4%D9%A7&longitude=0", "latitude=--1&longitude=0",
            "latitude=1&longitude=1&latitude=1", "latitude=1&longitude=1&altitude=1",
            "latitude=0.\(String(repeating: "0", count: 70))1&longitude=0",
        ])
    func invalid(parameters: String) async throws {
        let error = #expect(throws: Rejection.self) { try parse("pns=apns&to_tag=bob&\(parameters)") }
        #expect(error?.code == .malformedRequest)
        // No detail contains a part of the position, because details are logged.
        #expect(error?.detail.contains { $0.isNumber } == false)
        await TestGateway().expect(
            .malformedRequest,
            for: ReceivedRequest("POST /api/notifications?pns=apns&to_tag=bob&\(parameters)", as: "eve", json: "\"hi\"")
        )
    }

    @Test("Other calls have no position") func others() async throws {
        await TestGateway().expect(
            .malformedRequest, for: ReceivedRequest("POST /api/register?latitude=1&longitude=1", as: "alice"))
    }

    private func parse(_ query: String) throws -> Position? {
        let profile = BackendProfile(.classic)
        let parsing = Parsing(
            routes: RouteTable(profile.client, issuesTokens: true), names: NameRules(), handles: HandleRules(),
            client: profile.client,
            platforms: ServedPlatforms([UpstreamRules(backend: profile.backend, host: "backend.test")]), messages: .auto
        )
        let parsed = try parsing.parse(ReceivedRequest("POST /api/notifications?\(query)", json: "\"hi\""))
        guard case .send(_, let position) = parsed.call else { return nil }
        return position
    }
}
