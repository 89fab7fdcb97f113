@testable internal import GatewayConfiguration
@testable internal import GatewayCore

/// An accepted area contains its own corners. Checked for rings whose corners have whole degrees, with which the
/// arithmetic of fences is exact.
enum GeoJSONTarget: FuzzTarget {
    static func run(_ input: [UInt8]) {
        guard let area = try? GeoJSONArea(input) else { return }
        guard area.positions * 5 <= input.count else { propertyFails("more positions than the text can have") }
        let fence = Fence(area.polygons)
        for ring in area.polygons.joined() {
            let corners = ring.edges.flatMap { [$0.west, $0.east] }
            guard corners.allSatisfy(isWhole) else { continue }
            for corner in corners where corner.longitude <= 180 {
                guard let position = Position(latitude: corner.latitude, longitude: corner.longitude) else {
                    propertyFails("an accepted corner is not on the Earth")
                }
                guard fence.contains(position) else {
                    propertyFails("the area does not contain its corner \(corner.latitude), \(corner.longitude)")
                }
            }
        }
    }

    private static func isWhole(_ point: LinearRing.Point) -> Bool {
        point.latitude == point.latitude.rounded() && point.longitude == point.longitude.rounded()
    }
}
