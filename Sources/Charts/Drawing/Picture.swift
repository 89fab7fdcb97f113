/// The outer element of a picture: its size, its name and its description.
///
/// The drawing has `role="img"`, which hides its parts from assistive technology. Links therefore stand beside the
/// drawing, not in it: then the role is that of a group in the `svg` element.
struct Picture {
    /// The class of this kind of picture.
    let kind: String
    /// The size in user units. At this size in pixels, labels are 12 pixels high.
    let width: Double
    let height: Double
    /// One or two sentences that say what is to be seen, with the numbers.
    let description: String

    /// Returns the `svg` element.
    ///
    /// - Parameters:
    ///   - drawing: writes what cannot be clicked.
    ///   - links: writes the links, on top of the drawing.
    func svg(
        _ frame: ChartFrame, drawing: (inout SVGWriter) -> Void, links: ((inout SVGWriter) -> Void)? = nil
    ) -> String {
        var writer = SVGWriter(capacity: 16_384)
        let classes = "chart \(kind) \(frame.isCompact ? "chart-compact" : "chart-regular")"
        let names = "\(frame.titleID) \(frame.descriptionID)"
        let viewBox = "0 0 \(Int(width.rounded(.up))) \(Int(height.rounded(.up)))"
        let namespace = "http://www.w3.org/2000/svg"
        if links == nil {
            writer.open(
                "svg", .text("xmlns", namespace), .class(classes), .text("viewBox", viewBox), .width(width),
                .height(height), .text("role", "img"), .text("aria-labelledby", names))
        } else {
            writer.open(
                "svg", .text("xmlns", namespace), .class(classes), .text("viewBox", viewBox), .width(width),
                .height(height))
            writer.open("g", .text("role", "img"), .text("aria-labelledby", names))
        }
        writer.element("title", id: frame.titleID, content: DisplayText(frame.title).full)
        writer.element("desc", id: frame.descriptionID, content: description)
        drawing(&writer)
        if let links {
            writer.close("g")
            links(&writer)
        }
        writer.close("svg")
        return writer.text
    }
}
