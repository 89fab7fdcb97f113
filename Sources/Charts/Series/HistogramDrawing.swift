/// The geometry and the parts of a histogram.
struct HistogramDrawing {
    let width: Double
    let height: Double

    private let chart: HistogramChart
    private let plot: PlotArea
    private let ticks: NiceTicks
    private let barWidth: Double

    init(_ chart: HistogramChart, isCompact: Bool) {
        self.chart = chart
        width = isCompact ? 328 : 720
        height = isCompact ? 220 : 250
        plot = PlotArea(left: isCompact ? 36 : 44, right: width - 20, top: 58, bottom: height - 26)
        ticks = NiceTicks(
            maximum: Double(chart.buckets.reduce(0) { max($0, $1.count) }), intervals: 4, isWhole: true)
        barWidth = plot.width / Double(max(1, chart.buckets.count))
    }

    func draw(_ writer: inout SVGWriter) {
        plot.drawValueAxis(ticks, caption: chart.noun, captionWidth: width - 8, &writer)
        drawBars(&writer)
        drawBounds(&writer)
        drawQuantile(chart.quantile(0.5), "p50", row: 0, &writer)
        drawQuantile(chart.quantile(0.99), "p99", row: 1, &writer)
    }

    private func drawBars(_ writer: inout SVGWriter) {
        let gap = min(2, barWidth * 0.15)
        for (index, bucket) in chart.buckets.enumerated() where bucket.count > 0 {
            // At least as high as can be seen: few calls are not none.
            let top = min(plot.y(ticks.fraction(of: Double(bucket.count))), plot.bottom - 1.5)
            let title =
                "\(chart.range(of: index)): \(NumberText.grouped(bucket.count)) \(DisplayText(chart.noun).isolated) "
                + "(\(NumberText.share(bucket.count, of: chart.total)))"
            writer.shape(
                "rect", title: title, .class("chart-bar"), .x(plot.left + Double(index) * barWidth + gap / 2), .y(top),
                .width(barWidth - gap), .height(plot.bottom - top))
        }
    }

    /// Writes the bounds between the bars, as many as there is space for.
    private func drawBounds(_ writer: inout SVGWriter) {
        let bounds = [chart.lowerBound] + chart.buckets.map(\.upperBound)
        let last = bounds.count - 1
        let texts = bounds.indices.map {
            bounds[$0].isFinite ? NumberText.duration(seconds: bounds[$0]) : chart.range(of: $0 - 1)
        }
        let widths = texts.map { TextWidth.of($0) * 12 + 8 }
        let distance = max(1, Int(((widths.dropLast().max() ?? 0) / barWidth).rounded(.up)))
        // The last bound always has its label, which ends where the axis ends.
        let end = min(width - 1, plot.right + (bounds[last].isFinite ? widths[last] / 2 : 0))
        var marks = SVGPath()
        for place in texts.indices {
            let x = plot.left + Double(place) * barWidth
            let isLast = place == last
            guard isLast || (place % distance == 0 && x + widths[place] / 2 < end - widths[last]) else { continue }
            marks.move(x, plot.bottom)
            marks.line(x, plot.bottom + 4)
            writer.label(
                texts[place], .class("chart-label chart-number chart-muted"), .x(isLast ? end : x),
                .y(plot.bottom + 18), .text("text-anchor", isLast ? "end" : "middle"))
        }
        writer.shape("path", .class("chart-axis"), .path(marks))
    }

    /// Draws a line at a quantile, with its label in a row of its own above the bars.
    private func drawQuantile(_ quantile: HistogramQuantile?, _ name: String, row: Int, _ writer: inout SVGWriter) {
        guard let quantile else { return }
        let x = plot.left + (Double(quantile.bucket) + quantile.within) * barWidth
        let y = 32 + 16 * Double(row)
        let text = "\(name) \(quantile.text)"
        let isAtEnd = x + 8 + TextWidth.of(text) * 12 > width
        var line = SVGPath()
        line.move(x, y - 9)
        line.line(x, plot.bottom)
        writer.open("g", .class("chart-quantile chart-quantile-\(name)"))
        writer.shape("path", .class("chart-quantile-edge"), .path(line))
        writer.shape("path", .class("chart-quantile-line"), .path(line))
        writer.label(
            text, .class("chart-label chart-quantile-name"), .x(isAtEnd ? x - 5 : x + 5), .y(y + 1),
            .text("text-anchor", isAtEnd ? "end" : "start"))
        writer.close("g")
    }
}
