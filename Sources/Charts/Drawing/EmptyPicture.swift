/// The picture of a chart that has no data.
struct EmptyPicture {
    let kind: String
    let height: Double
    /// The sentence that tells a reader which data is missing.
    let text: String

    func svg(_ frame: ChartFrame) -> String {
        let width = frame.isCompact ? 328.0 : 720.0
        let picture = Picture(kind: "\(kind) chart-empty", width: width, height: height, description: "\(text).")
        return picture.svg(frame) { writer in
            writer.shape(
                "rect", .class("chart-empty-frame"), .x(0.5), .y(0.5), .width(width - 1), .height(height - 1),
                .number("rx", 4))
            writer.label(
                text, .class("chart-label chart-muted"), .x(width / 2), .y(height / 2 + 4),
                .text("text-anchor", "middle"))
        }
    }
}
