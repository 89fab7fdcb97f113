/// The rectangle between the axes of a chart.
struct PlotArea: Sendable {
    let left: Double
    let right: Double
    let top: Double
    let bottom: Double

    var width: Double { right - left }

    /// Returns the height of a place on the value axis, from 0 at the bottom to 1 at the top.
    func y(_ fraction: Double) -> Double { bottom - fraction * (bottom - top) }

    /// Draws the lines and the labels of the value axis, and what the values are above it.
    ///
    /// - Parameter captionWidth: the space for the caption in user units.
    func drawValueAxis(_ ticks: NiceTicks, caption: String, captionWidth: Double, _ writer: inout SVGWriter) {
        var grid = SVGPath()
        for value in ticks.values {
            let y = (y(ticks.fraction(of: value)) - 0.5).rounded() + 0.5
            if value > 0 {
                grid.move(left, y)
                grid.line(right, y)
            }
            writer.label(
                NumberText.short(value), .class("chart-label chart-number chart-muted"), .x(left - 7), .y(y + 4),
                .text("text-anchor", "end"))
        }
        writer.shape("path", .class("chart-grid"), .path(grid))
        var axis = SVGPath()
        axis.move(left, bottom.rounded() - 0.5)
        axis.line(right, bottom.rounded() - 0.5)
        writer.shape("path", .class("chart-axis"), .path(axis))
        let fitted = DisplayText(caption).fitted(to: captionWidth / 12)
        writer.label(fitted, .class("chart-label chart-muted"), .x(4), .y(13))
    }
}
