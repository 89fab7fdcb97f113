import GatewayTesting
import Testing

@testable import GatewayCore

@Suite("Fences")
struct FenceTests {
    private static func ring(_ points: [(Double, Double)]) throws -> LinearRing {
        try LinearRing(points.map { LinearRing.Point(longitude: $0.0, latitude: $0.1) })
    }

    /// Returns the ring of a rectangle.
    private static func box(_ west: Double, _ south: Double, _ east: Double, _ north: Double) throws -> LinearRing {
        try ring([(west, south), (east, south), (east, north), (west, north), (west, south)])
    }

    private func contains(_ fence: Fence, _ longitude: Double, _ latitude: Double) throws -> Bool {
        fence.contains(try #require(Position(latitude: latitude, longitude: longitude)))
    }

    @Test("A rectangle contains its interior and its boundary") func rectangle() throws {
        let fence = Fence([[try Self.box(-122.5, 47.5, -122.2, 47.75)]])
        for (longitude, latitude, isInside) in [
            (-122.3, 47.6, true), (-122.5, 47.6, true), (-122.2, 47.6, true), (-122.3, 47.5, true),
            (-122.3, 47.75, true), (-122.5, 47.5, true), (-122.2, 47.75, true), (-122.5, 47.75, true),
            (-122.6, 47.6, false), (-122.1, 47.6, false), (-122.3, 47.4, false), (-122.3, 47.8, false),
            (122.3, 47.6, false), (47.6, -90, false), (180, 47.6, false), (-180, 47.6, false),
        ] {
            #expect(try contains(fence, longitude, latitude) == isInside, "\(longitude) \(latitude)")
        }
    }

    @Test("A position in a hole is outside, and one on its boundary is inside") func hole() throws {
        let fence = Fence([[try Self.box(0, 0, 10, 10), try Self.box(4, 4, 6, 6)]])
        for (longitude, latitude, isInside) in [
            (5.0, 5.0, false), (3, 5, true), (7, 5, true), (5, 3, true), (5, 7, true), (4, 5, true), (5, 6, true),
            (4, 4, true), (4.001, 4.001, false),
        ] {
            #expect(try contains(fence, longitude, latitude) == isInside, "\(longitude) \(latitude)")
        }
    }

    @Test("Several polygons cover the union of their areas, where they overlap too") func union() throws {
        let fence = Fence([
            [try Self.box(0, 0, 10, 10), try Self.box(4, 4, 6, 6)], [try Self.box(5, 5, 15, 15)],
            [try Self.box(20, 0, 21, 1)],
        ])
        for (longitude, latitude, isInside) in [
            (1.0, 1.0, true), (7, 7, true), (4.5, 4.5, false), (5.5, 5.5, true), (12, 12, true), (20.5, 0.5, true),
            (17, 5, false),
        ] {
            #expect(try contains(fence, longitude, latitude) == isInside, "\(longitude) \(latitude)")
        }
    }

    @Test("An area across the antimeridian is read in one piece, in two, and with longitudes beyond 180")
    func antimeridian() throws {
        let fences = [
            Fence([[try Self.box(177, -20, -178, -15)]]), Fence([[try Self.box(177, -20, 182, -15)]]),
            Fence([[try Self.box(-183, -20, -178, -15)]]),
            Fence([[try Self.box(177, -20, 180, -15)], [try Self.box(-180, -20, -178, -15)]]),
        ]
        for fence in fences {
            for (longitude, latitude, isInside) in [
                (179.0, -17.0, true), (-179, -17, true), (180, -17, true), (-180, -17, true), (177, -17, true),
                (-178, -15, true), (180, -15, true), (-180, -20, true), (176.9, -17, false), (-177.9, -17, false),
                (0, -17, false), (180, -14.9, false), (-180, -20.1, false),
            ] {
                #expect(try contains(fence, longitude, latitude) == isInside, "\(longitude) \(latitude)")
            }
        }
    }

    @Test("An area that touches the antimeridian contains it under both of its longitudes") func touching() throws {
        let fence = Fence([[try Self.ring([(170, 0), (180, 5), (170, 10), (170, 0)])]])
        #expect(try contains(fence, 180, 5) && contains(fence, -180, 5))
        #expect(try !contains(fence, 180, 5.1) && !contains(fence, -180, 4.9) && !contains(fence, -179, 5))
        let east = Fence([[try Self.box(170, 0, 180, 10)]])
        #expect(try contains(east, 180, 5) && contains(east, -180, 5) && !contains(east, -179.9, 5))
    }

    @Test("A ring around the Earth encloses the pole of its hemisphere, in either direction") func poles() throws {
        let north = [(0.0, 60.0), (90, 70), (180, 60), (-90, 65), (0, 60)]
        for points in [north, north.reversed()] {
            let fence = Fence([[try Self.ring(points)]])
            for (longitude, latitude, isInside) in [
                (0.0, 90.0, true), (123, 89, true), (90, 71, true), (90, 69, false), (45, 65, true), (45, 64.9, false),
                (180, 61, true), (-180, 61, true), (180, 59, false), (-180, 59, false), (0, 60, true), (0, -90, false),
                (10, 0, false),
            ] {
                #expect(try contains(fence, longitude, latitude) == isInside, "\(longitude) \(latitude)")
            }
            let south = Fence([[try Self.ring(points.map { ($0.0, -$0.1) })]])
            #expect(try contains(south, 45, -65.1) && contains(south, 10, -90) && !contains(south, 45, -64.9))
            #expect(try !contains(south, 45, 90) && !contains(south, 45, 0))
        }
    }

    @Test("A ring along the border of the map contains the pole, with and without a hole around it") func borders()
        throws
    {
        // The notation of maps: down the antimeridian, along the pole, and up the antimeridian.
        let points = [
            (-180.0, -80.0), (-90, -70), (0, -75), (90, -65), (180, -80), (180, -90), (-180, -90), (-180, -80),
        ]
        for points in [points, points.reversed()] {
            let fence = Fence([[try Self.ring(points)]])
            #expect(try contains(fence, -90, -71) && contains(fence, 45, -90) && contains(fence, 180, -85))
            #expect(try contains(fence, -180, -85) && contains(fence, -180, -80) && !contains(fence, 180, -79.9))
            #expect(try !contains(fence, -90, -69) && !contains(fence, 0, 0) && !contains(fence, 0, 90))
        }
        let cap = try Self.ring([(0, 60), (120, 60), (-120, 60), (0, 60)])
        let hole = try Self.ring([(0, 80), (120, 80), (-120, 80), (0, 80)])
        let belt = Fence([[cap, hole]])
        #expect(try contains(belt, 12, 70) && !contains(belt, 12, 85) && !contains(belt, 12, 50))
        #expect(try !contains(belt, 12, 90) && contains(belt, 12, 80))
    }

    @Test("A rectangle from -180 to 180 is a belt around the Earth") func belt() throws {
        let fence = Fence([[try Self.box(-180, -10, 180, 10)]])
        for longitude in [-180.0, -100, 0, 100, 180] {
            #expect(try contains(fence, longitude, 0) && contains(fence, longitude, 10))
            #expect(try !contains(fence, longitude, 10.1) && !contains(fence, longitude, -10.1))
        }
    }

    @Test("A malformed ring is rejected with its reason") func faults() throws {
        #expect(throws: LinearRing.Fault.tooFewPoints) { try Self.ring([(0, 0), (1, 1), (0, 0)]) }
        #expect(throws: LinearRing.Fault.open) { try Self.ring([(0, 0), (1, 0), (1, 1), (0, 1)]) }
        #expect(throws: LinearRing.Fault.latitude(at: 2)) { try Self.ring([(0, 0), (1, 0), (1, 91), (0, 0)]) }
        #expect(throws: LinearRing.Fault.longitude(at: 1)) { try Self.ring([(0, 0), (361, 0), (1, 1), (0, 0)]) }
        #expect(throws: LinearRing.Fault.latitude(at: 1)) { try Self.ring([(0, 0), (1, .nan), (1, 1), (0, 0)]) }
        #expect(throws: LinearRing.Fault.windsRepeatedly) {
            try Self.ring([(0, 60), (120, 60), (-120, 60), (0, 61), (120, 62), (-120, 63), (0, 60)])
        }
        // All points are equal, so that the ring has no edge.
        let empty = Fence([[try Self.ring([(1, 1), (1, 1), (1, 1), (1, 1)])]])
        #expect(try !contains(empty, 1, 1) && !contains(empty, 0, 90))
        #expect(try !contains(Fence([]), 0, 0))
    }

    /// The reference walks through all edges with a line to the west.
    private func isInside(_ points: [LinearRing.Point], _ position: Position) -> Bool {
        var isInside = false
        for (one, other) in zip(points, points.dropFirst())
        where (one.latitude > position.latitude) != (other.latitude > position.latitude) {
            let share = (position.latitude - one.latitude) / (other.latitude - one.latitude)
            if one.longitude + share * (other.longitude - one.longitude) < position.longitude { isInside.toggle() }
        }
        return isInside
    }

    @Test("Outlines with thousands of points agree with a test of all edges", arguments: [4, 50, 3_000, 10_000])
    func outlines(count: Int) throws {
        var random = SplitMix(seed: UInt64(count))
        var points = (0..<count).map { index in
            let (angle, radius) = (
                2 * Double.pi * Double(index) / Double(count), Double.random(in: 10...20, using: &random)
            )
            return LinearRing.Point(
                longitude: 20 + radius * 2 * Self.cosine(angle), latitude: 30 + radius * Self.cosine(angle - .pi / 2))
        }
        points.append(points[0])
        let fence = Fence([[try LinearRing(points)]])
        for _ in 0..<2_000 {
            let position = try #require(
                Position(
                    latitude: .random(in: 5...55, using: &random), longitude: .random(in: -25...65, using: &random)))
            #expect(fence.contains(position) == isInside(points, position))
        }
    }

    /// All edges of the comb are as long as the comb is wide, so that each band has all of them.
    @Test("A comb with long edges agrees with a test of all edges") func comb() throws {
        var points = (0..<2_000).flatMap { index -> [LinearRing.Point] in
            let latitude = Double(index) / 40
            let isEven = index % 2 == 0
            return [
                .init(longitude: isEven ? 0 : 50, latitude: latitude),
                .init(longitude: isEven ? 50 : 1, latitude: latitude + 0.01),
            ]
        }
        points += [.init(longitude: -1, latitude: 50), .init(longitude: -1, latitude: 0), points[0]]
        let fence = Fence([[try LinearRing(points)]])
        var random = SplitMix(seed: 3)
        for _ in 0..<500 {
            let position = try #require(
                Position(
                    latitude: .random(in: -1...51, using: &random), longitude: .random(in: -2...51, using: &random)))
            #expect(fence.contains(position) == isInside(points, position))
        }
    }

    /// Returns the cosine by its series, so that the test needs no mathematics of Foundation.
    private static func cosine(_ angle: Double) -> Double {
        let x = angle.remainder(dividingBy: 2 * .pi)
        var (sum, term) = (1.0, 1.0)
        for step in 1..<20 {
            term *= -x * x / Double((2 * step - 1) * (2 * step))
            sum += term
        }
        return sum
    }

    @Test("Fences with the same edges are equal") func equality() throws {
        let fence = Fence([[try Self.box(0, 0, 1, 1)]])
        #expect(try fence == Fence([[try Self.box(0, 0, 1, 1)]]) && fence != Fence([[try Self.box(0, 0, 1, 2)]]))
    }

    @Test("A position is within the ranges of latitude and longitude and has no printable form") func position() throws
    {
        let position = try #require(Position(latitude: 47.61234, longitude: -122.34567))
        #expect(Position(latitude: 90.1, longitude: 0) == nil && Position(latitude: 0, longitude: -180.1) == nil)
        #expect(Position(latitude: .nan, longitude: 0) == nil && Position(latitude: 0, longitude: .infinity) == nil)
        var dumped = ""
        dump(position, to: &dumped)
        for text in ["\(position)", String(reflecting: position), String(describing: [position]), dumped] {
            #expect(!text.contains("47") && !text.contains("122"), "\(text)")
        }
    }

    @Test("A fence name has the characters of an audience's name and no case") func name() {
        #expect(FenceName("Seattle_1.north-2")?.text == "seattle_1.north-2")
        for text in ["", "a b", "a@b", "a:b", "ä", String(repeating: "a", count: 65)] {
            #expect(FenceName(text) == nil, "\(text)")
        }
    }
}
