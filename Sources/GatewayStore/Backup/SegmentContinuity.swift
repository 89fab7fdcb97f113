package import GatewaySupport

/// The question whether two segments are of one journal.
package enum SegmentContinuity {
    /// Returns whether the first line of a segment names the hash of the line before it in an earlier segment. Blocks.
    ///
    /// - Parameters:
    ///   - segment: The name of the segment, whose content may be at another path.
    ///   - earlier: The path of the earlier segment.
    package static func continues(
        _ segment: JournalSegmentName, at path: String, after earlier: String
    ) throws(FileFailure) -> Bool {
        let files = SystemFileSystem()
        let head = try files.read(path, first: 64 << 10)
        let previous = ChainCheck.endOfLine(in: head, from: 0).flatMap {
            JournalLineReader(bytes: head[..<$0]).previous
        }
        guard let previous else { return false }
        return SegmentTail(number: segment.first - 1, in: try files.read(earlier))?.hash.hexDigits == previous
    }
}
