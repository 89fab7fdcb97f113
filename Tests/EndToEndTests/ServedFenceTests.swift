import Foundation
import GatewayTesting
import Testing

@Suite("Geofencing of a served gateway", .timeLimit(.minutes(5)))
struct ServedFenceTests {
    /// Returns the GeoJSON of a rectangle.
    private static func box(_ west: Double, _ south: Double, _ east: Double, _ north: Double) -> String {
        """
        {"type":"Feature","properties":{},"geometry":{"type":"Polygon","coordinates":[[[\(west),\(south)],[\(east),\(south)],
        [\(east),\(north)],[\(west),\(north)],[\(west),\(south)]]]}}
        """
    }

    private static let seattle = box(-122.5, 47.5, -122.2, 47.75)
    private static let target = "/api/notifications?pns=gcm&to_tag=bob&latitude=47.6&longitude=-122.3"

    private static func directory() throws -> TestFiles {
        let directory = try TestFiles.ofGateway(
            """
            policy: { send: [{ from: alice, to: "*", within: seattle }] }
            fences: { seattle: seattle.geojson }
            log: { level: debug }
            """)
        try directory.write(seattle, to: "seattle.geojson")
        return directory
    }

    @Test("The tutorial's call is decided by its position, and neither journal nor log contains the position")
    func served() async throws {
        let directory = try Self.directory()
        let fixture = try #require(ClientFixtures.own.first { $0.name == "android" })
        let (log, status) = try await ServedProgram.run(in: directory) { gateway async throws in
            #expect(try await gateway.client.register("bob", "gcm", "bobs-token-bobs-token").status == 200)
            let sent = try await gateway.client.send(fixture.requests.send(latitude: "47.6", longitude: "-122.3"))
            #expect(sent.status == 200)
            for (target, problem) in [
                ("/api/notifications?pns=gcm&to_tag=bob", "send-not-allowed"),
                (Self.target.replacing("47.6", with: "48.625"), "send-not-allowed"),
                (Self.target.replacing("47.6", with: "97.625"), "malformed-request"),
                (Self.target.replacing("&latitude=47.6", with: ""), "malformed-request"),
                (Self.target + "&latitude=47.6", "malformed-request"),
            ] {
                let response = try await gateway.client.call("POST", target, as: "alice", body: #""x""#)
                #expect(response.problem == problem && !response.text.contains("122.3"), "\(target)")
            }
            let explained = try await gateway.command(
                "explain", "--user", "alice", "--body", #""hi""#, "POST \(Self.target)")
            #expect(explained.output.contains("rule       send[0]\nfence      seattle\n"), "\(explained.output)")
            #expect(explained.output.contains("POST /api/notifications?pns=gcm&to_tag=bob HTTP/1.1\n"))
            let elsewhere = try await gateway.command(
                "explain", "--user", "alice", "--body", #""hi""#, "POST \(Self.target.replacing("-122.3", with: "8.5"))"
            )
            #expect(elsewhere.status == 1 && elsewhere.output.contains("no rule allows the send"))
            return gateway.log
        }
        #expect(status == 0)
        let sends = try GatewayUnderTest.journal(in: directory).filter { $0["action"] as? String == "send" }
        let intent = try #require(sends.first { $0["kind"] as? String == "intent" })
        #expect(intent["fence"] as? String == "seattle" && intent["rule"] as? String == "send[0]")
        #expect(sends.filter { $0["kind"] as? String == "refusal" }.allSatisfy { $0["fence"] == nil })
        let folder = "\(directory.path)/journal"
        let written = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".jsonl") }
            .map { try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8) }
        for text in written + [log.text] {
            #expect(!text.isEmpty)
            for number in ["47.6", "122.3", "48.625", "97.625"] { #expect(!text.contains(number), "\(number)") }
        }
        let listed = try await directory.command("audit", "list", "--json")
        #expect(listed.output.contains(#""rule":"send[0]","fence":"seattle""#), "\(listed.output)")
        let records = try await directory.command("audit", "list", "--records", "--csv")
        #expect(records.output.contains(",rule,fence,secure,secure-id,limit,"))
    }

    @Test("A changed file of a fence applies within a second, and an invalid one changes nothing")
    func changes() async throws {
        let directory = try Self.directory()
        let (_, status) = try await ServedProgram.run(in: directory) { gateway async throws in
            func status() async throws -> Int {
                try await gateway.client.call("POST", Self.target, as: "alice", body: #""x""#).status
            }
            #expect(try await status() == 200)
            try directory.write(Self.box(8, 47, 9, 48), to: "seattle.geojson")
            await gateway.log.contains("Fences replaced")
            #expect(try await status() == 403)
            try directory.write("{", to: "seattle.geojson")
            await gateway.log.contains("File rejected")
            #expect(try await status() == 403)
            let reload = try await gateway.command("reload")
            #expect(reload.status == 1 && reload.output.contains("fences.seattle: is not JSON"), "\(reload)")
            try directory.write(Self.seattle, to: "seattle.geojson")
            await gateway.log.contains("Fences replaced", times: 2)
            #expect(try await status() == 200)
        }
        #expect(status == 0)
    }
}
