package import GatewaySupport

/// Values at equal intervals, of one kind.
package struct TimeSeries: Sendable, Hashable {
    /// The name of the series, one word, which stands beside the line.
    package let name: String
    /// The values from the beginning of the chart; nil where there is none. Negative values and values that are not
    /// finite count as missing.
    package let values: [Double?]

    /// Creates a series.
    package init(name: String, values: [Double?]) {
        self.name = name
        self.values = values
    }
}

/// Several series over time, as lines that differ in colour, dashes and markers.
///
/// Missing values are gaps. The time axis is in UTC.
package struct TimeChart: Chart {
    /// The number of points of a series. Of more, each few neighbours become one point: the largest of them.
    package static let maximumPoints = 1440
    /// The number of lines. Of more series, those from this place on become one line: their sum.
    package static let maximumSeries = 5

    /// The first point in time.
    let start: WallTime
    /// Seconds between two points.
    let interval: Int
    /// The unit of the values, such as `sends per minute`.
    let unit: String
    let series: [TimeSeries]

    /// Creates a chart.
    ///
    /// - Parameters:
    ///   - start: the time of the first value of each series.
    ///   - interval: the seconds between two values, at least 1.
    ///   - unit: what the values are, for the axis: `per minute`.
    ///   - series: the most important one first: it is drawn with an area.
    package init(start: WallTime, interval: Int, unit: String, series: [TimeSeries]) {
        let all = Self.grouped(series)
        let count = all.reduce(0) { max($0, $1.values.count) }
        let stride = max(1, (count + Self.maximumPoints - 1) / Self.maximumPoints)
        self.start = start
        self.interval = min(max(1, interval), 1_000_000_000) * stride
        self.unit = DisplayText(unit).full
        self.series = all.map { series in
            TimeSeries(name: DisplayText(series.name).full, values: Self.thinned(series.values, count, stride))
        }
    }

    /// The number of points of each series.
    var pointCount: Int { series.first?.values.count ?? 0 }

    /// Returns the time of a point, in seconds since the epoch.
    func seconds(at index: Int) -> Int64 {
        let start = min(max(start.seconds, UTC.range.lowerBound), UTC.range.upperBound)
        return start + Int64(interval) * Int64(index)
    }

    /// One row for each point in time.
    package var table: ChartTable {
        ChartTable(
            columns: ["Time (UTC)"] + series.map(\.name),
            rows: (0..<pointCount).map { index in
                [UTC.dateAndTime(seconds(at: index), digits: timeDigits)]
                    + series.map { $0.values[index].map(NumberText.value) ?? "–" }
            })
    }

    /// Returns the picture.
    package func svg(_ frame: ChartFrame) -> String {
        guard series.contains(where: { $0.values.contains { $0 != nil } }) else {
            return EmptyPicture(kind: "chart-time", height: frame.isCompact ? 160 : 200, text: "No data").svg(frame)
        }
        let drawing = TimeDrawing(self, isCompact: frame.isCompact)
        return Picture(
            kind: "chart-time", width: drawing.width, height: drawing.height, description: description
        ).svg(frame, drawing: drawing.draw)
    }

    /// The picture in words.
    private var description: String {
        let first = UTC.dateAndTime(seconds(at: 0), digits: timeDigits)
        let last = UTC.dateAndTime(seconds(at: max(0, pointCount - 1)), digits: timeDigits)
        let sentences = series.map { series in
            guard
                let highest = series.values.indices.max(by: { (series.values[$0] ?? -1) < (series.values[$1] ?? -1) }),
                let maximum = series.values[highest], let latest = series.values.lazy.compactMap({ $0 }).last
            else { return "\(isolated(series.name)): no data." }
            let time = UTC.dateAndTime(seconds(at: highest), digits: timeDigits)
            return "\(isolated(series.name)): at most \(NumberText.value(maximum)) at \(time), "
                + "latest \(NumberText.value(latest))."
        }
        return "\(unit) from \(first) to \(last) UTC. " + sentences.joined(separator: " ")
    }

    private var timeDigits: Int { interval % 60 == 0 && start.seconds % 60 == 0 ? 5 : 8 }

    private func isolated(_ name: String) -> String { DisplayText(name).isolated }

    private static func grouped(_ series: [TimeSeries]) -> [TimeSeries] {
        guard series.count > maximumSeries else { return series }
        let others = series[(maximumSeries - 1)...]
        var sum: [Double?] = []
        for values in others.lazy.map(\.values) {
            for (index, value) in values.enumerated() {
                if index == sum.count { sum.append(nil) }
                if let value, isValid(value) { sum[index] = (sum[index] ?? 0) + value }
            }
        }
        return series.prefix(maximumSeries - 1)
            + [TimeSeries(name: "\(NumberText.grouped(others.count)) others", values: sum)]
    }

    /// Returns the values with nil for what is missing, and the largest of each few neighbours.
    private static func thinned(_ values: [Double?], _ count: Int, _ stride: Int) -> [Double?] {
        Swift.stride(from: 0, to: count, by: stride).map { first in
            var largest: Double?
            for index in first..<max(first, min(first + stride, values.count)) {
                guard let value = values[index], isValid(value) else { continue }
                largest = max(largest ?? 0, min(value, NiceTicks.maximumValue))
            }
            return largest
        }
    }

    private static func isValid(_ value: Double) -> Bool { value.isFinite && value >= 0 }
}
