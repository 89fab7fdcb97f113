import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayConfiguration

@Suite("GeoJSON areas")
struct GeoJSONAreaTests {
    private static let square = "[[0,0],[2,0],[2,2],[0,2],[0,0]]"
    private static let polygon = #"{"type":"Polygon","coordinates":[\#(square)]}"#

    private func area(_ text: String) throws -> GeoJSONArea { try GeoJSONArea(Array(text.utf8)) }

    private func message(_ text: String) -> String? {
        do throws(GeoJSONArea.Fault) {
            _ = try GeoJSONArea(Array(text.utf8))
            return nil
        } catch {
            return error.message
        }
    }

    @Test(
        "Every form of an area is read",
        arguments: [
            polygon, #"{"type":"MultiPolygon","coordinates":[[\#(square)]]}"#,
            #"{"type":"Feature","properties":null,"geometry":\#(polygon)}"#,
            #"{"type":"Feature","id":1,"bbox":[0,0,2,2],"properties":{"a":[1,{"b":2}]},"geometry":\#(polygon)}"#,
            #"{"type":"GeometryCollection","geometries":[\#(polygon)]}"#,
            #"{"type":"FeatureCollection","features":[{"type":"Feature","geometry":\#(polygon)}]}"#,
            #"{"type":"FeatureCollection","features":[{"type":"Feature","geometry":null},{"type":"Feature","geometry":"#
                + #"{"type":"GeometryCollection","geometries":[{"type":"MultiPolygon","coordinates":[[\#(square)]]}]}}]}"#,
            #"{"type":"Polygon","coordinates":[[[0.0,-0,12.5],[2e0,0,1],[200e-2,2],[0,2,0,7],[0,0]]]}"#,
            #"{"crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:OGC:1.3:CRS84"}},"type":"Polygon","coordinates":[\#(square)]}"#,
        ])
    func forms(text: String) throws {
        let area = try area(text)
        #expect(area.positions == 5 && area.polygons.count == 1)
        let fence = Fence(area.polygons)
        let inside = try #require(Position(latitude: 1, longitude: 1))
        let outside = try #require(Position(latitude: 1, longitude: 3))
        #expect(fence.contains(inside) && !fence.contains(outside))
    }

    @Test(
        "A text that is no area is rejected with the path of its fault",
        arguments: [
            ("", "is not JSON"), ("{", "is not JSON"), ("\u{FEFF}\(polygon)", "is not JSON"),
            ("[]", "the file must be an object"), ("{}", "the file is not a GeoJSON object"),
            (#"{"type":"Polygon"}"#, "coordinates must be a list"),
            (#"{"type":"Polygon","coordinates":[]}"#, "contains no polygon"),
            (#"{"type":"FeatureCollection","features":[]}"#, "contains no polygon"),
            (#"{"type":"Topology","objects":{}}"#, "the file is not a GeoJSON object"),
            (
                #"{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]}}]}"#,
                "features[0].geometry is no area"
            ),
            (#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[0,0]]]}"#, "coordinates[0] has fewer than 4 positions"),
            (#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}"#, "coordinates[0] is not closed"),
            (
                #"{"type":"MultiPolygon","coordinates":[[\#(square)],[\#(square),[[0,0],[1,0],[1,1],[0,1]]]]}"#,
                "coordinates[1][1] is not closed"
            ),
            (#"{"type":"Polygon","coordinates":[[[0,0],[1],[1,1],[0,0]]]}"#, "coordinates[0][1] is not a position"),
            (#"{"type":"Polygon","coordinates":[[[0,0],["1",0],[1,1],[0,0]]]}"#, "coordinates[0][1] is not a position"),
            (
                #"{"type":"Polygon","coordinates":[[[0,0],[1e999,0],[1,1],[0,0]]]}"#,
                "coordinates[0][1] is not a position"
            ),
            (
                #"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,91],[0,0]]]}"#,
                "coordinates[0][2] has a latitude beyond"
            ),
            (
                #"{"type":"Polygon","coordinates":[[[0,0],[400,0],[1,1],[0,0]]]}"#,
                "coordinates[0][1] has a longitude beyond"
            ),
            (
                #"{"type":"Polygon","coordinates":[[[0,60],[120,60],[-120,60],[0,61],[120,61],[-120,61],[0,60]]]}"#,
                "coordinates[0] goes around the Earth more than once"
            ),
            (
                #"{"crs":{"type":"name","properties":{"name":"EPSG:3857"}},"type":"Polygon","coordinates":[]}"#,
                "crs must be WGS 84"
            ),
            (#"{"type":"Polygon","type":"Polygon","coordinates":[]}"#, "has an object in which a name occurs twice"),
            (String(repeating: "[", count: 100_000), "is nested too deeply"),
            (
                #"{"type":"Polygon","coordinates":[[\#(Array(repeating: "[0,0]", count: 100_001).joined(separator: ","))]]}"#,
                "has more than 100000 positions"
            ),
        ])
    func faults(text: String, begin: String) {
        let message = message(text)
        #expect(message?.hasPrefix(begin) == true, "\(message ?? "no fault")")
    }

    @Test("Each prefix and each changed byte of a text is either an area or a fault") func mutations() {
        var random = SplitMix(seed: 5)
        let text = Array(
            #"{"type":"FeatureCollection","features":[{"type":"Feature","geometry":\#(Self.polygon)}]}"#.utf8)
        for end in text.indices { #expect(throws: GeoJSONArea.Fault.self) { try GeoJSONArea(Array(text[..<end])) } }
        for index in text.indices {
            var changed = text
            changed[index] = UInt8.random(in: .min ... .max, using: &random)
            _ = try? Fence(GeoJSONArea(changed).polygons)
        }
    }
}
