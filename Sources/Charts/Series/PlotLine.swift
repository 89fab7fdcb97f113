/// The course of a line through values of which some are missing.
enum PlotLine {
    /// The least distance in user units at which single points can be told apart.
    private static let resolution = 1.5

    /// Returns the ranges of neighbours that have a value.
    static func runs(_ values: [Double?]) -> [Run] {
        var runs: [Run] = []
        var first: Int?
        for index in 0...values.count {
            if index < values.count, values[index] != nil {
                if first == nil { first = index }
            } else if let start = first {
                runs.append(Run(first: start, values: values[start..<index].map { $0 ?? 0 }))
                first = nil
            }
        }
        return runs
    }

    /// Returns the places of the points to draw: all of them, or the least and the largest of each few neighbours if
    /// they are too close together. Peaks therefore remain.
    static func simplified(_ run: Run, spacing: Double) -> [Int] {
        let bucket = spacing > 0 ? Int(min(resolution * 2 / spacing, 1e6)) : 1
        guard bucket > 2, run.values.count > 2 * bucket else { return Array(run.first..<run.first + run.values.count) }
        var places: [Int] = []
        for start in stride(from: 0, to: run.values.count, by: bucket) {
            let range = start..<min(start + bucket, run.values.count)
            var least = start
            var largest = start
            for index in range {
                if run.values[index] < run.values[least] { least = index }
                if run.values[index] > run.values[largest] { largest = index }
            }
            places.append(run.first + min(least, largest))
            if least != largest { places.append(run.first + max(least, largest)) }
        }
        let last = run.first + run.values.count - 1
        if places.last != last { places.append(last) }
        return places
    }

    /// Neighbouring values without a gap.
    struct Run: Sendable, Hashable {
        /// The index of the first value in the series.
        let first: Int
        let values: [Double]
    }
}

/// The shape of the markers of a series. Each of the five series has its own.
struct PlotMarker {
    let series: Int

    /// Adds a marker around the point.
    func add(to path: inout SVGPath, _ x: Double, _ y: Double) {
        let corners: [(Double, Double)] =
            switch series % 5 {
            case 0:  // an octagon, which at this size is a circle
                [
                    (-1.4, -3.4), (1.4, -3.4), (3.4, -1.4), (3.4, 1.4), (1.4, 3.4), (-1.4, 3.4), (-3.4, 1.4),
                    (-3.4, -1.4),
                ]
            case 1: [(-3.1, -3.1), (3.1, -3.1), (3.1, 3.1), (-3.1, 3.1)]
            case 2: [(0, -4.2), (4, 3), (-4, 3)]
            case 3: [(0, -4.4), (4.4, 0), (0, 4.4), (-4.4, 0)]
            default: [(0, 4.2), (4, -3), (-4, -3)]
            }
        path.move(x + corners[0].0, y + corners[0].1)
        for corner in corners.dropFirst() { path.line(x + corner.0, y + corner.1) }
        path.close()
    }
}

/// The heights of labels at the ends of lines.
enum PlotLabels {
    /// Returns the heights, moved apart to at least the distance, and within the bounds if there is space.
    ///
    /// - Parameter heights: the desired heights, ascending.
    static func spread(_ heights: [Double], distance: Double, within bounds: ClosedRange<Double>) -> [Double] {
        var heights = heights
        for index in heights.indices {
            let least = index == 0 ? bounds.lowerBound : heights[index - 1] + distance
            heights[index] = max(heights[index], least)
        }
        for index in heights.indices.reversed() {
            let largest = index == heights.count - 1 ? bounds.upperBound : heights[index + 1] - distance
            heights[index] = min(heights[index], largest)
        }
        return heights
    }
}
