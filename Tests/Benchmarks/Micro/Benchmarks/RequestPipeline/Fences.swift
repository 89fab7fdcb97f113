import GatewayTesting

@testable import GatewayCore

/// An area, and positions of which a known number is inside.
private final class Containment {
    private let fence: Fence
    private let positions: [(position: Position, isInside: Bool)]
    private var next = 0

    /// Creates an area with an outline between two ellipses. The positions are inside of the smaller one, or outside of
    /// the larger one but within its bounds.
    init(points: Int) throws {
        var random = SplitMix(seed: 7946)
        // A walk around the center in equal steps: a rotation by a rational angle, without trigonometric functions.
        var corners: [LinearRing.Point] = []
        for index in 0..<points {
            let share = 4 * Double(index) / Double(points)
            let (quarter, part) = (Int(share), share - share.rounded(.down))
            let x = (1 - part * part) / (1 + part * part)
            let y = 2 * part / (1 + part * part)
            let (east, north) = [(x, y), (-y, x), (-x, -y), (y, -x)][quarter]
            let radius = Double.random(in: 5...6, using: &random)
            corners.append(.init(longitude: 10 + 1.5 * radius * east, latitude: 50 + radius * north))
        }
        fence = Fence([[try LinearRing(corners + corners.prefix(1))]])
        positions = (0..<1_000).map { index in
            let isInside = index % 2 == 0
            let share = Double.random(in: 0...1, using: &random)
            let (latitude, longitude) = isInside ? (48 + 4 * share, 5 + 10 * share) : (55.5 + share / 4, 15 + share)
            // The numbers are within the ranges.
            return (Position(latitude: latitude, longitude: longitude)!, isInside)
        }
    }

    func contains() -> Bool {
        next = next + 1 == positions.count ? 0 : next + 1
        return fence.contains(positions[next].position) == positions[next].isInside
    }
}

func measureFences() {
    measure("contain-a-position-in-10000-points") {
        try Containment(points: 10_000)
    } _: {
        $0.contains()
    }
    measure("contain-a-position-in-100000-points") {
        try Containment(points: 100_000)
    } _: {
        $0.contains()
    }
}
