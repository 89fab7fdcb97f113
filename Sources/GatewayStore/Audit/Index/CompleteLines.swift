/// The complete lines at the start of a byte array. The last lines of a segment that is still written to may be
/// incomplete.
struct CompleteLines {
    /// The lines, each with its line feed.
    let bytes: [UInt8]
    /// Whether complete lines follow an incomplete one.
    let hasGap: Bool

    /// Creates the lines.
    ///
    /// - Parameter mayHaveGaps: Whether ``bytes`` reaches to the last complete line even if incomplete lines lie in
    ///   between.
    init(_ found: [UInt8], mayHaveGaps: Bool = false) {
        var offset = 0
        var end = 0
        var isBehindAGap = false
        var hasGap = false
        let content = JournalContent.endOfLines(in: found)
        while offset < content, let feed = ChainCheck.endOfLine(in: found, from: offset), feed < content {
            if CheckedLine.isWellFormed(found, offset..<feed) {
                hasGap = hasGap || isBehindAGap
                if !isBehindAGap || mayHaveGaps { end = feed + 1 }
            } else {
                isBehindAGap = true
            }
            offset = feed + 1
        }
        bytes = end == found.count ? found : Array(found[..<end])
        self.hasGap = hasGap
    }
}
