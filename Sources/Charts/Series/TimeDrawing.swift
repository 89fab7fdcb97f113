/// The geometry and the parts of a chart over time.
struct TimeDrawing {
    let width: Double
    let height: Double

    private let chart: TimeChart
    private let plot: PlotArea
    private let ticks: NiceTicks
    private let labelWidth: Double
    private let isCompact: Bool

    init(_ chart: TimeChart, isCompact: Bool) {
        self.chart = chart
        self.isCompact = isCompact
        width = isCompact ? 328 : 720
        height = isCompact ? 210 : 250
        labelWidth = isCompact ? 80 : 104
        plot = PlotArea(left: isCompact ? 36 : 44, right: width - labelWidth - 12, top: 30, bottom: height - 26)
        let values = chart.series.lazy.flatMap(\.values).compactMap { $0 }
        ticks = NiceTicks(
            maximum: values.max() ?? 0, intervals: 4, isWhole: values.allSatisfy { $0 == $0.rounded() })
    }

    func draw(_ writer: inout SVGWriter) {
        plot.drawValueAxis(ticks, caption: caption, captionWidth: width - 8, &writer)
        drawTimeAxis(&writer)
        // The first series on top: it is the most important one.
        for index in chart.series.indices.reversed() { drawSeries(index, &writer) }
        drawLabels(&writer)
    }

    private var caption: String {
        let date = isCompact ? UTC.monthAndDay : UTC.date
        let first = date(chart.seconds(at: 0))
        let last = date(chart.seconds(at: max(0, chart.pointCount - 1)))
        return "\(chart.unit) · \(first == last ? first : "\(first) to \(last)") UTC"
    }

    private func drawTimeAxis(_ writer: inout SVGWriter) {
        let first = chart.seconds(at: 0)
        let last = chart.seconds(at: max(0, chart.pointCount - 1))
        let axis = TimeTicks(
            first: first, last: last, maximum: max(2, Int(plot.width / (isCompact ? 48 : 64))),
            minimumStep: Int64(chart.interval))
        var marks = SVGPath()
        for tick in axis.ticks {
            let share = last > first ? Double(tick.seconds - first) / Double(last - first) : 0.5
            let x = plot.left + share * plot.width
            marks.move(x, plot.bottom)
            marks.line(x, plot.bottom + 4)
            writer.label(
                tick.label, .class("chart-label chart-number chart-muted"), .x(x), .y(plot.bottom + 18),
                .text("text-anchor", "middle"))
        }
        if !marks.isEmpty { writer.shape("path", .class("chart-axis"), .path(marks)) }
    }

    private func drawSeries(_ index: Int, _ writer: inout SVGWriter) {
        let values = chart.series[index].values
        var line = SVGPath()
        var area = SVGPath()
        for run in PlotLine.runs(values) {
            let places = PlotLine.simplified(run, spacing: plot.width / Double(max(1, values.count - 1))).map { place in
                (x: x(place), y: y(values[place] ?? 0))
            }
            guard let first = places.first, let last = places.last else { continue }
            if places.count == 1 {
                line.dot(first.x, first.y)
                continue
            }
            line.move(first.x, first.y)
            for place in places.dropFirst() { line.line(place.x, place.y) }
            area.move(first.x, plot.bottom)
            for place in places { area.line(place.x, place.y) }
            area.line(last.x, plot.bottom)
            area.close()
        }
        writer.open("g", .class("chart-series-\(index + 1)"))
        writer.title(chart.series[index].name)
        if index == 0, !area.isEmpty { writer.shape("path", .class("chart-area"), .path(area)) }
        if !line.isEmpty { writer.shape("path", .class("chart-line"), .path(line)) }
        drawMarkers(index, values, &writer)
        writer.close("g")
    }

    /// Draws markers at equal distances, each series at places of its own.
    private func drawMarkers(_ index: Int, _ values: [Double?], _ writer: inout SVGWriter) {
        let spacing = plot.width / Double(max(1, values.count - 1))
        let distance = max(1, Int((spacing >= 18 ? 1 : 84 / spacing).rounded(.up)))
        var path = SVGPath()
        let first = distance == 1 ? 0 : distance * (2 * index + 1) / (2 * TimeChart.maximumSeries)
        for place in stride(from: first, to: values.count, by: distance) {
            guard let value = values[place] else { continue }
            PlotMarker(series: index).add(to: &path, x(place), y(value))
        }
        if !path.isEmpty { writer.shape("path", .class("chart-marker"), .path(path)) }
    }

    /// Writes the name of each series at the end of its line. Names that would overlap move apart.
    private func drawLabels(_ writer: inout SVGWriter) {
        var labels: [(series: Int, end: (x: Double, y: Double))] = []
        for (index, series) in chart.series.enumerated() {
            guard let last = series.values.lastIndex(where: { $0 != nil }) else { continue }
            labels.append((index, (x(last), y(series.values[last] ?? 0))))
        }
        labels.sort { ($0.end.y, $0.series) < ($1.end.y, $1.series) }
        let heights = PlotLabels.spread(
            labels.map(\.end.y), distance: 16, within: plot.top...max(plot.top, plot.bottom))
        let left = plot.right + 20
        for (label, height) in zip(labels, heights) {
            let name = DisplayText(chart.series[label.series].name)
            // No line from a series that ends earlier: it would look like values that are not there.
            let hasLeader = plot.right - label.end.x < 12
            var leader = SVGPath()
            leader.move(label.end.x + 2, label.end.y)
            leader.line(max(plot.right + 6, label.end.x + 2), height)
            leader.line(left - 6, height)
            writer.open("g", .class("chart-series-\(label.series + 1)"))
            if hasLeader { writer.shape("path", .class("chart-leader"), .path(leader)) }
            var marker = SVGPath()
            PlotMarker(series: label.series).add(to: &marker, left, height)
            writer.shape("path", .class("chart-marker"), .path(marker))
            writer.label(
                name.fitted(to: (labelWidth - 18) / 12), title: name.isolated,
                .class("chart-label chart-series-name"), .x(left + 8), .y(height + 4))
            writer.close("g")
        }
    }

    private func x(_ index: Int) -> Double {
        chart.pointCount < 2
            ? plot.left + plot.width / 2 : plot.left + plot.width * Double(index) / Double(chart.pointCount - 1)
    }

    private func y(_ value: Double) -> Double { plot.y(ticks.fraction(of: value)) }
}
