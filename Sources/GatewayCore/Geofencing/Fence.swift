/// An area on the Earth: polygons with holes (RFC 7946), prepared once so that a test of a position is fast.
///
/// A position on the boundary of the area is inside, and so is one on the boundary of a hole.
public struct Fence: Sendable, Equatable {
    private let bands: LongitudeBands

    /// Creates the area that the polygons cover together. The first ring of a polygon is its outer boundary, the others
    /// are the boundaries of its holes.
    public init(_ polygons: [[LinearRing]]) { bands = LongitudeBands(polygons) }

    /// Returns whether the position is inside or on the boundary. Allocates nothing.
    public func contains(_ position: Position) -> Bool { bands.contain(position) }

    /// Returns whether both are made of the same edges.
    public static func == (left: Fence, right: Fence) -> Bool {
        left.bands === right.bands || left.bands.hasSameEdges(as: right.bands)
    }
}

/// The edges of polygons, sorted into bands of longitude with few edges each.
///
/// A position is inside a polygon if a line from it along its meridian to the north pole crosses an odd number of edges,
/// or an even number if the polygon contains the north pole. Only the edges of one band can cross that line.
///
/// A class, so that a fence is one reference.
final class LongitudeBands: Sendable {
    private struct Edge: Sendable, Equatable {
        var ends: FenceEdge
        var polygon: Int
    }

    /// The edges of the first polygon, then those of the next, and so on.
    private let edges: [Edge]
    /// Whether each polygon contains the north pole.
    private let containsNorthPole: [Bool]
    /// The western border of each band, ascending. A band ends where the next one begins, the last one at 180.
    private let borders: [Double]
    /// The indices of the edges of all bands, one band after the other, ascending within a band.
    private let members: [UInt32]
    /// The index in `members` at which each band begins, and at the end their number.
    private let starts: [Int]
    /// The southern and northern bounds of the area.
    private let latitudes: ClosedRange<Double>

    /// The intended number of ends of edges in a band.
    private static let endsInBand = 16
    /// The maximum of `members` for each edge. Many long edges would otherwise be members of all bands.
    private static let maximumMembersForEdge = 8

    init(_ polygons: [[LinearRing]]) {
        var edges: [Edge] = []
        for (index, rings) in polygons.enumerated() {
            for edge in rings.lazy.flatMap(\.edges) {
                edges.append(Edge(ends: edge, polygon: index))
                if let copy = edge.beyondAntimeridian { edges.append(Edge(ends: copy, polygon: index)) }
            }
        }
        // The pole is in a hole if the hole's ring encloses it too.
        containsNorthPole = polygons.map { rings in rings.count(where: \.enclosesNorthPole) % 2 == 1 }
        let ends = edges.flatMap { [$0.ends.west.latitude, $0.ends.east.latitude] }
        // An area around a pole extends from its ring to the pole.
        let isAroundPole = polygons.contains { $0.contains(where: \.surroundsPole) }
        latitudes = isAroundPole ? -90...90 : (ends.min() ?? 0)...(ends.max() ?? 0)
        self.edges = edges
        (borders, starts, members) = Self.banded(edges)
    }

    /// Returns the borders of the bands, the starts of their members, and the members.
    private static func banded(_ edges: [Edge]) -> (borders: [Double], starts: [Int], members: [UInt32]) {
        let ends = edges.flatMap { [$0.ends.west.longitude, $0.ends.east.longitude] }
            .map { max($0, -180) }.filter { $0 < 180 }.sorted()
        var step = endsInBand
        while true {
            var borders: [Double] = []
            for index in stride(from: 0, to: ends.count, by: step) where borders.last != ends[index] {
                borders.append(ends[index])
            }
            let ranges = edges.map { range(of: $0.ends, in: borders) }
            let count = ranges.reduce(0) { $0 + $1.count }
            guard count <= maximumMembersForEdge * edges.count || borders.count <= 1 else {
                step *= 2
                continue
            }
            return filled(borders, ranges, count)
        }
    }

    private static func filled(
        _ borders: [Double], _ ranges: [Range<Int>], _ count: Int
    ) -> (borders: [Double], starts: [Int], members: [UInt32]) {
        var starts = Array(repeating: 0, count: borders.count + 1)
        for band in ranges.lazy.flatMap({ $0 }) { starts[band + 1] += 1 }
        for band in borders.indices { starts[band + 1] += starts[band] }
        var members = Array(repeating: UInt32(0), count: count)
        var next = starts
        for (edge, range) in ranges.enumerated() {
            for band in range {
                members[next[band]] = UInt32(edge)
                next[band] += 1
            }
        }
        return (borders, starts, members)
    }

    /// Returns the bands that the edge touches.
    private static func range(of edge: FenceEdge, in borders: [Double]) -> Range<Int> {
        guard let last = band(at: edge.east.longitude, in: borders) else { return 0..<0 }
        return (band(at: edge.west.longitude, in: borders) ?? 0)..<(last + 1)
    }

    /// Returns the last band whose western border is not east of the longitude; nil if there is none.
    private static func band(at longitude: Double, in borders: [Double]) -> Int? {
        var (low, high) = (0, borders.count)
        while low < high {
            let middle = (low + high) / 2
            if borders[middle] <= longitude { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : low - 1
    }

    /// Returns whether both have the same polygons.
    func hasSameEdges(as other: LongitudeBands) -> Bool {
        edges == other.edges && containsNorthPole == other.containsNorthPole
    }

    /// Returns whether a polygon contains the position, with its boundary.
    func contain(_ position: Position) -> Bool {
        // The two meridians of the antimeridian are one.
        let (x, y) = (position.longitude == 180 ? -180 : position.longitude, position.latitude)
        guard latitudes.contains(y), let band = Self.band(at: x, in: borders) else { return false }
        var (polygon, isInside) = (-1, false)
        for index in starts[band]..<starts[band + 1] {
            let edge = edges[Int(members[index])]
            if edge.polygon != polygon {
                if isInside { return true }
                polygon = edge.polygon
                isInside = containsNorthPole[polygon]
            }
            let (west, east) = (edge.ends.west, edge.ends.east)
            guard west.longitude <= x, x <= east.longitude else { continue }
            if west.longitude == east.longitude {
                if min(west.latitude, east.latitude) <= y, y <= max(west.latitude, east.latitude) { return true }
                continue
            }
            // Positive if the position is north of the edge.
            let side =
                (east.longitude - west.longitude) * (y - west.latitude)
                - (east.latitude - west.latitude) * (x - west.longitude)
            if side == 0 { return true }
            // An edge does not own its eastern end, so that a corner counts once.
            if side < 0, x < east.longitude { isInside.toggle() }
        }
        return isInside
    }
}
