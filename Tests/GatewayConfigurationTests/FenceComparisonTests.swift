import Foundation
import GatewayCore
import GatewayTesting
import Testing

@testable import GatewayConfiguration

/// Compares fences with the results of another library, which `Tests/Geofencing/compare` writes.
@Suite("Fences and shapely")
struct FenceComparisonTests {
    /// The directory of `NAME.geojson` and `NAME.txt`, which has a line `LONGITUDE LATITUDE 0` or `1` for each position.
    private static let folder = ProcessInfo.processInfo.environment["NOTIFY_GATEWAY_FENCES"].map {
        URL(fileURLWithPath: $0)
    }

    @Test(
        "Fences and shapely agree on each position",
        .enabled(if: folder != nil, "NOTIFY_GATEWAY_FENCES is not set; Tests/Geofencing/compare sets it"))
    func agreement() throws {
        let folder = try #require(Self.folder)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path()).filter {
            $0.hasSuffix(".geojson")
        }
        #expect(!names.isEmpty)
        for name in names.sorted() {
            let area = try GeoJSONArea([UInt8](Data(contentsOf: folder.appending(path: name))))
            let fence = Fence(area.polygons)
            let list = folder.appending(path: name.replacing(".geojson", with: ".txt"))
            var (count, inside) = (0, 0)
            for line in try String(contentsOf: list, encoding: .utf8).split(separator: "\n") {
                let parts = line.split(separator: " ")
                let (longitude, latitude) = (try #require(Double(parts[0])), try #require(Double(parts[1])))
                let position = try #require(Position(latitude: latitude, longitude: longitude))
                let isInside = fence.contains(position)
                count += 1
                inside += isInside ? 1 : 0
                if isInside != (parts[2] == "1") { Issue.record("\(name): \(line)") }
            }
            #expect(count > 0)
            print("\(name): \(area.positions) positions of its rings, \(inside) of \(count) positions are inside")
        }
    }
}
