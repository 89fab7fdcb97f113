/// The places of the entries of a legend, in lines of a bounded width.
struct LegendFlow {
    /// The height of a line in user units.
    static let lineHeight = 22.0
    /// The width of the sample before the text of an entry.
    static let sampleWidth = 26.0
    private static let gap = 14.0

    /// The left edge and the middle of each entry.
    let places: [(x: Double, y: Double)]
    /// The height of all lines.
    let height: Double

    /// - Parameters:
    ///   - texts: the texts of the entries, in a font of 12 units.
    ///   - origin: the left upper corner.
    ///   - width: the width of a line.
    init(_ texts: [String], origin: (x: Double, y: Double), width: Double) {
        var x = origin.x
        var line = 0.0
        var places: [(x: Double, y: Double)] = []
        for text in texts {
            let length = Self.sampleWidth + TextWidth.of(text) * 12
            if x > origin.x, x + length > origin.x + width {
                x = origin.x
                line += 1
            }
            places.append((x, origin.y + (line + 0.5) * Self.lineHeight))
            x += length + Self.gap
        }
        self.places = places
        height = (line + 1) * Self.lineHeight
    }
}
