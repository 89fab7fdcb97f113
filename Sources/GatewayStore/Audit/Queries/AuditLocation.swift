internal import GatewaySupport

/// The position of a line in the journal.
struct AuditLocation: Sendable, Hashable {
    /// The line's number.
    let number: UInt64
    /// The segment that contains the line.
    let segment: JournalSegmentName
    /// The byte offset of the line in the segment.
    let offset: Int
    /// The line's length in bytes, without the line feed.
    let length: Int
}

/// A source of the locations of matching lines.
protocol AuditLocator {
    /// Visits the locations of lines that may match the filter, by descending number if `newestFirst`, otherwise
    /// ascending, until `visit` returns false.
    ///
    /// An index checks only the conditions that it has columns for. The caller checks the line itself.
    func locate(_ filter: AuditFilter, newestFirst: Bool, _ visit: (AuditLocation) throws -> Bool) throws

    /// Returns the locations of each call's lines, by the call's id, in ascending order of their numbers.
    func locations(ofCalls calls: Set<[UInt8]>) throws -> [[UInt8]: [AuditLocation]]
}

/// Reads lines from the segments and keeps one segment open at a time. Confined to one thread.
final class AuditLineSource {
    private let files: SegmentFiles
    private var open: (name: JournalSegmentName, reader: SegmentReader)?

    init(_ files: SegmentFiles) { self.files = files }

    deinit { open?.reader.close() }

    /// Returns the line at the location; nil if its segment has been removed. Throws if the segment contains another
    /// line there.
    func line(at location: AuditLocation) throws -> [UInt8]? {
        if open?.name != location.segment {
            open?.reader.close()
            open = nil
            let reader = try files.ifPresent { () throws(FileFailure) in
                try SegmentReader(files.path(location.segment))
            }
            guard let reader else { return nil }
            open = (location.segment, reader)
        }
        let line = try open?.reader.read(from: location.offset, count: location.length) ?? []
        guard line.count == location.length, JournalLineReader(bytes: line[...]).sequence == location.number else {
            throw AuditIndex.Failure(
                damaged: location.segment.first, "does not state where line \(location.number) is")
        }
        return line
    }
}
