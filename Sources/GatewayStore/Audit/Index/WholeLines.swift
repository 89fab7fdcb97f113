/// The lines at the beginning of some bytes that are there in full: of a segment that is being written, the last ones may be seen
/// in part.
struct WholeLines {
    /// The lines, each with its line feed.
    let bytes: [UInt8]
    /// Whether there are whole lines behind one that is not.
    let hasGap: Bool

    /// - Parameter mayHaveGaps: whether lines go up to the last whole one, whatever is between.
    init(_ found: [UInt8], mayHaveGaps: Bool = false) {
        var offset = 0
        var end = 0
        var isBehindAGap = false
        var hasGap = false
        let content = JournalContent.endOfLines(in: found)
        while offset < content, let feed = ChainCheck.endOfLine(in: found, from: offset), feed < content {
            if CheckedLine.isShaped(found, offset..<feed) {
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
