/// A small line without axes, for a tile beside a number.
package struct Sparkline: Chart {
    /// The number of points. Of more, the largest of each few neighbours remains.
    package static let maximumPoints = 240

    private let name: String
    private let values: [Double?]

    /// Creates a line.
    ///
    /// - Parameters:
    ///   - name: what the values are, for the description.
    ///   - values: at equal intervals; nil where there is none. Negative values and values that are not finite count
    ///     as missing.
    package init(name: String, values: [Double?]) {
        self.name = DisplayText(name).isolated
        let stride = max(1, (values.count + Self.maximumPoints - 1) / Self.maximumPoints)
        self.values = Swift.stride(from: 0, to: values.count, by: stride).map { first in
            values[first..<min(first + stride, values.count)].lazy.compactMap { $0 }
                .filter { $0.isFinite && $0 >= 0 }.map { min($0, NiceTicks.maximumValue) }.max()
        }
    }

    /// The values in their order.
    package var table: ChartTable {
        ChartTable(columns: [name], rows: values.map { [$0.map(NumberText.value) ?? "–"] })
    }

    /// Returns the picture. Both layouts are the same.
    package func svg(_ frame: ChartFrame) -> String {
        let (width, height, inset) = (120.0, 32.0, 4.0)
        let present = values.compactMap { $0 }
        guard let latest = present.last, let maximum = present.max(), let minimum = present.min() else {
            return Picture(
                kind: "chart-spark chart-empty", width: width, height: height, description: "\(name): no data."
            ).svg(frame) { writer in
                var line = SVGPath()
                line.move(inset, height - inset)
                line.line(width - inset, height - inset)
                writer.shape("path", .class("chart-grid"), .path(line))
            }
        }
        let description =
            "\(name): latest \(NumberText.value(latest)), from \(NumberText.value(minimum)) "
            + "to \(NumberText.value(maximum))."
        let spacing = (width - 2 * inset) / Double(max(1, values.count - 1))
        func point(_ place: Int) -> (x: Double, y: Double) {
            let share = maximum > 0 ? (values[place] ?? 0) / maximum : 0
            let x = values.count < 2 ? width / 2 : inset + spacing * Double(place)
            return (x, height - inset - share * (height - 2 * inset))
        }
        return Picture(kind: "chart-spark", width: width, height: height, description: description).svg(frame) {
            writer in
            var line = SVGPath()
            var area = SVGPath()
            for run in PlotLine.runs(values) {
                let points = PlotLine.simplified(run, spacing: spacing).map(point)
                guard points.count > 1 else {
                    for point in points { line.dot(point.x, point.y) }
                    continue
                }
                line.move(points[0].x, points[0].y)
                area.move(points[0].x, height - inset)
                for (place, point) in points.enumerated() {
                    if place > 0 { line.line(point.x, point.y) }
                    area.line(point.x, point.y)
                }
                area.line(points[points.count - 1].x, height - inset)
                area.close()
            }
            writer.open("g", .class("chart-series-1"))
            if !area.isEmpty { writer.shape("path", .class("chart-area"), .path(area)) }
            writer.shape("path", .class("chart-line"), .path(line))
            if let last = values.lastIndex(where: { $0 != nil }) {
                let end = point(last)
                writer.shape(
                    "circle", .class("chart-marker"), .number("cx", end.x), .number("cy", end.y), .number("r", 2.5))
            }
            writer.close("g")
        }
    }
}
