package import GatewaySupport

/// The segments of a journal to which nothing is written any more, for copies of them elsewhere.
package struct FinishedSegments: Sendable {
    /// One such segment.
    package struct Segment: Sendable, Hashable {
        /// The name of the file.
        package let name: JournalSegmentName
        /// The number after the segment's last line: the first number of the next segment.
        package let end: UInt64
        /// The size in bytes.
        package let size: UInt64
    }

    /// The directory of the journal.
    package let directory: String

    /// Creates a value for the journal in the directory. Opens nothing.
    package init(directory: String) { self.directory = directory }

    /// Returns the finished segments in ascending order, without files that are longer than any segment that is written.
    /// Blocks.
    ///
    /// - Parameter durableEnd: The number after the last line that is on disk. A segment is finished once the next one
    ///   has a durable line.
    package func list(before durableEnd: UInt64) throws(FileFailure) -> [Segment] {
        let files = SystemFileSystem()
        let names = JournalSegmentName.segments(among: try files.fileNames(in: directory))
        var finished: [Segment] = []
        for (name, next) in zip(names, names.dropFirst()) where next.first < durableEnd {
            do throws(FileFailure) {
                let size = try files.size(path(of: name))
                if size > 0, size <= JournalSegment.maximumBytes {
                    finished.append(Segment(name: name, end: next.first, size: size))
                }
            } catch  where error.isMissing {
                // Retention removed it meanwhile.
                continue
            }
        }
        return finished
    }

    /// The path of a segment.
    package func path(of name: JournalSegmentName) -> String { "\(directory)/\(name.text)" }
}
