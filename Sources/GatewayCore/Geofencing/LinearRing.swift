/// A closed line around an area or around a hole in one (RFC 7946, section 3.1.6), as edges on the globe.
///
/// An edge is a straight line in longitude and latitude. If the longitudes of two consecutive points differ by more than
/// 180°, the edge takes the shorter way, across the antimeridian. The exception is an edge from one side of the
/// antimeridian, −180, to the other side, 180: it goes around the whole Earth. So both notations of an area across the
/// antimeridian are read: cut in two parts there, and in one piece.
///
/// A ring that goes around the Earth once separates the two poles. It encloses the pole of the hemisphere in which most
/// of it lies.
public struct LinearRing: Sendable {
    /// A corner of a ring, in degrees.
    public struct Point: Sendable, Hashable {
        /// The longitude, −360 to 360. Some programs write an area across the antimeridian with longitudes beyond 180.
        public var longitude: Double
        /// The latitude, −90 to 90.
        public var latitude: Double

        /// Creates a point.
        public init(longitude: Double, latitude: Double) {
            self.longitude = longitude
            self.latitude = latitude
        }
    }

    /// The reason why points are not a ring.
    public enum Fault: Error, Sendable, Hashable {
        /// There are fewer than four points.
        case tooFewPoints
        /// The longitude of the point with this index is out of range.
        case longitude(at: Int)
        /// The latitude of the point with this index is out of range.
        case latitude(at: Int)
        /// The last point differs from the first one.
        case open
        /// The ring goes around the Earth more than once.
        case windsRepeatedly
    }

    /// The edges, each with its western end from −180 up to, but not including, 180. The eastern end may be beyond 180.
    let edges: [FenceEdge]
    /// Whether the ring goes around the Earth, so that it encloses a pole.
    let surroundsPole: Bool
    /// Whether the ring encloses the north pole.
    let enclosesNorthPole: Bool

    /// Creates a ring of points of which the last equals the first. The direction does not matter.
    public init(_ points: [Point]) throws(Fault) {
        guard points.count >= 4 else { throw .tooFewPoints }
        for (index, point) in points.enumerated() {
            guard (-360...360).contains(point.longitude) else { throw .longitude(at: index) }
            guard (-90...90).contains(point.latitude) else { throw .latitude(at: index) }
        }
        guard points.first == points.last else { throw .open }
        var edges: [FenceEdge] = []
        edges.reserveCapacity(points.count)
        var (turns, meanLatitude) = (0.0, 0.0)
        for (start, end) in zip(points, points.dropFirst()) where start != end {
            let turn = Self.turn(from: start.longitude, to: end.longitude)
            let longitude = end.longitude + 360 * turn
            turns += turn
            meanLatitude += (longitude - start.longitude) * (start.latitude + end.latitude) / 2
            edges.append(FenceEdge(start, Point(longitude: longitude, latitude: end.latitude)))
        }
        guard abs(turns) <= 1 else { throw .windsRepeatedly }
        self.edges = edges
        surroundsPole = turns != 0
        // The sign of `turns` removes the direction of the ring from the integral of the latitude.
        enclosesNorthPole = turns * meanLatitude > 0
    }

    /// Returns how many turns of 360° must be added to the second longitude, so that the edge takes its way.
    private static func turn(from start: Double, to end: Double) -> Double {
        let difference = end - start
        let goesAroundTheEarth = abs(start) == 180 && end == -start
        guard abs(difference) > 180, !goesAroundTheEarth else { return 0 }
        return -(difference / 360).rounded()
    }
}

/// An edge of a ring from its western to its eastern end, in degrees.
struct FenceEdge: Sendable, Equatable {
    var west: LinearRing.Point
    var east: LinearRing.Point

    /// Creates the edge between two points, moved by whole turns so that its western end is from −180 to below 180.
    init(_ one: LinearRing.Point, _ other: LinearRing.Point) {
        (west, east) = one.longitude <= other.longitude ? (one, other) : (other, one)
        moveEast(by: -360 * ((west.longitude + 180) / 360).rounded(.down))
    }

    /// The same edge one turn farther west, for positions that its part beyond 180 concerns; nil if it has no such part.
    var beyondAntimeridian: FenceEdge? {
        guard east.longitude >= 180 else { return nil }
        var edge = self
        edge.moveEast(by: -360)
        return edge
    }

    private mutating func moveEast(by degrees: Double) {
        west.longitude += degrees
        east.longitude += degrees
    }
}
