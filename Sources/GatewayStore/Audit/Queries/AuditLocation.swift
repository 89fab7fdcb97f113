/// Where a line lies.
struct AuditLocation: Sendable, Hashable {
    /// The line's number.
    let number: UInt64
    /// The first number of its segment.
    let segment: JournalSegmentName
    /// The place of its first byte in the segment.
    let place: Int
    /// Its length in bytes, without the line feed.
    let length: Int
    /// The id of its call, if it is about one.
    let call: [UInt8]?

    /// No line is longer; a longer one in the index is damage.
    static let longestLine = 1 << 26
}

/// Finds the lines that fit a filter: the index, or a scan of the segments.
protocol AuditLocating {
    /// Visits the lines that fit the filter in the order of their numbers, or in the opposite one, until `visit` returns false.
    ///
    /// Lines that do not fit the filter's rest may be among them.
    func locate(_ filter: AuditFilter, newestFirst: Bool, _ visit: (AuditLocation) throws -> Bool) throws

    /// The lines of the calls, in the order of their numbers.
    func locations(ofCalls calls: Set<[UInt8]>) throws -> [[UInt8]: [AuditLocation]]
}

/// Reads lines from their segments, one segment open at a time. Belongs to one thread.
final class AuditLineSource {
    private let files: SegmentFiles
    private var open: (name: JournalSegmentName, reader: SegmentReader)?

    init(_ files: SegmentFiles) { self.files = files }

    deinit { open?.reader.close() }

    /// The line at the place; nil where its segment has been removed. Throws where another line lies there.
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
        let line = try open?.reader.read(from: location.place, count: location.length) ?? []
        guard line.count == location.length, JournalLineReader(bytes: line[...]).sequence == location.number else {
            throw AuditIndex.Failure("line \(location.number) is not where the index says", isDamage: true)
        }
        return line
    }
}
