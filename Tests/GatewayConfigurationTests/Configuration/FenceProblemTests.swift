import Gateway
import GatewayCore
import GatewaySupport
import GatewayTesting
import Testing

@testable import GatewayConfiguration

@Suite("Problems of fences")
struct FenceProblemTests {
    private static let polygon = #"{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[0,2],[0,0]]]}"#

    private func read(_ text: String, in files: TestFiles) -> (configuration: ServerConfiguration?, problems: [String])
    {
        let (configuration, problems) = ConfigurationFile.read(
            text, file: "gateway.yaml", directory: files.path, catalog: PluginCatalog([FixedPlugin.self]))
        return (configuration, problems.map { $0.description.replacing("\(files.path)/", with: "") })
    }

    @Test("A rule has the fence of its file") func valid() throws {
        let files = try TestFiles()
        let path = try files.write(Self.polygon, to: "square.geojson")
        let (configuration, problems) = read(
            """
            backend: { url: embedded }
            authenticators: [{ fixed: {} }]
            fences: { Square: square.geojson, other: "\(path)" }
            policy:
              send: [{ from: "*", to: "*", within: square }, { from: alice, to: bob, within: OTHER }, { from: alice, to: bob }]
            """, in: files)
        #expect(problems.isEmpty)
        let policy = try #require(configuration?.policy)
        #expect(policy.send.map { $0.within?.text } == ["square", "other", nil])
        let name = try #require(FenceName("square"))
        let (fence, position) = (try #require(policy.fences[name]), try #require(Position(latitude: 1, longitude: 1)))
        #expect(fence.contains(position))
        #expect(configuration?.fenceFiles.map(\.path) == [path, path])
    }

    @Test("Unknown fences and unusable files are reported with their places") func mistakes() throws {
        let files = try TestFiles()
        try files.write(Self.polygon, to: "square.geojson")
        try files.write("{\n  \"type\": \"Polygon\",\n  \"coordinates\": [[[0,0]\n}", to: "broken.geojson")
        try files.write(#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}"#, to: "open.geojson")
        try files.write(String(repeating: " ", count: FenceFile.maximumSize + 1), to: "large.geojson")
        let (configuration, problems) = read(
            """
            backend: { url: embedded }
            authenticators: [{ fixed: {} }]
            fences:
              square: square.geojson
              SQUARE: square.geojson
              "a b": square.geojson
              broken: broken.geojson
              open: open.geojson
              missing: missing.geojson
              large: large.geojson
              empty: ""
              list: [1]
            policy:
              send:
                - { from: "*", to: "*", within: square }
                - { from: alice, to: bob, within: Square }
                - { from: "*", to: "*", within: nowhere }
                - { from: "*", to: "*", within: }
                - { from: "*", to: "*", within: open }
            """, in: files)
        #expect(configuration == nil)
        #expect(
            problems == [
                "gateway.yaml:5:3: fences.SQUARE: is a duplicate; fence names are not case-sensitive",
                "gateway.yaml:6:3: fences.a b: is not a fence name; use up to 64 letters, digits, _ . and -",
                "gateway.yaml:11:10: fences.empty: must not be empty",
                "gateway.yaml:12:9: fences.list: must be text",
                "broken.geojson:4:1: fences.broken: is not JSON",
                "open.geojson: fences.open: coordinates[0] is not closed; its last position must equal the first",
                "missing.geojson: fences.missing: does not exist",
                "large.geojson: fences.large: is larger than 8 MiB",
                "gateway.yaml:16:7: warning: policy.send[1]: can never match; policy.send[0] includes it",
                "gateway.yaml:17:37: policy.send[2].within: \"nowhere\" is not defined in \"fences\"",
                "gateway.yaml:18:37: policy.send[3].within: must not be empty",
                "gateway.yaml:7:11: warning: fences.broken: is in no rule of policy.send",
                "gateway.yaml:9:12: warning: fences.missing: is in no rule of policy.send",
                "gateway.yaml:10:10: warning: fences.large: is in no rule of policy.send",
            ])
    }

    @Test("At most 64 fences are read, and without `fences` no rule may name one") func bounds() throws {
        let files = try TestFiles()
        try files.write(Self.polygon, to: "square.geojson")
        let fences = (0..<65).map { "f\($0): square.geojson" }.joined(separator: ", ")
        let head = "backend: { url: embedded }\nauthenticators: [{ fixed: {} }]\n"
        let many = read(
            head + "fences: { \(fences) }\npolicy: { send: [{ from: \"*\", to: \"*\", within: f0 }] }", in: files)
        #expect(many.configuration == nil && many.problems.contains { $0.hasSuffix("fences: has more than 64 fences") })
        let none = read(head + "policy: { send: [{ from: \"*\", to: \"*\", within: f0 }] }", in: files)
        #expect(none.configuration == nil)
        #expect(none.problems.map { $0.hasSuffix("\"f0\" is not defined in \"fences\"") } == [true])
    }

    @Test("All files together have a maximum number of positions") func total() throws {
        let files = try TestFiles()
        let ring = (0..<99_999).map { "[\($0 % 2),\($0 % 3)]" } + ["[0,0]"]
        let path = try files.write(
            #"{"type":"Polygon","coordinates":[[\#(ring.joined(separator: ","))]]}"#, to: "large.geojson")
        let fences = try (0..<11).map { FenceFile(name: try #require(FenceName("f\($0)")), path: path) }
        #expect(try FenceFile.read(Array(fences.dropLast())).count == 10)
        let error = #expect(throws: ConfigurationError.self) { try FenceFile.read(fences) }
        #expect(error?.problems.map(\.path) == ["fences.f10"])
    }
}
