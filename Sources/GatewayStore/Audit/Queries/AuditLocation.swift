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

/// A source of the locations of matching lines, and of the lines. Locations are in the order of the list: by number in one
/// journal.
protocol AuditLocator {
    /// The place of a line.
    associatedtype Location: Sendable
    /// A place between two lines, before which a page begins.
    associatedtype Bound: Sendable

    /// Visits the locations of lines that may match the filter, in descending order if `newestFirst`, otherwise ascending,
    /// until `visit` returns false.
    ///
    /// An index checks only the conditions that it has columns for. The caller checks the line itself.
    ///
    /// - Returns: The place that was reached if the locator ended by itself before the last line; nil otherwise.
    func locate(_ filter: AuditFilter, newestFirst: Bool, _ visit: (Location) throws -> Bool) throws -> Bound?

    /// The maximum number of calls for ``locations(ofCalls:)``.
    var maximumCalls: Int { get }

    /// Returns the locations of each call's lines, by the call's id, in ascending order.
    func locations(ofCalls calls: Set<[UInt8]>) throws -> [[UInt8]: [Location]]

    /// Returns the line at the location; nil if it has been removed since.
    func line(at location: Location) throws -> [UInt8]?

    /// Passes the lines at the locations to `body` in this order, without those that have been removed since.
    func forEachLine(at locations: some Sequence<Location>, _ body: (Location, [UInt8]) throws -> Void) throws

    /// Returns the location in the form that takes the least memory.
    func compacted(_ location: Location) -> Location

    /// Whether the first location is before the second one.
    func precedes(_ first: Location, _ second: Location) -> Bool

    /// Returns the place after the line.
    func bound(after location: Location) -> Bound

    /// Returns whether the line is on a page that was returned earlier, and was there when the first page was read.
    func isOnEarlierPage(_ location: Location, _ filter: AuditFilter) -> Bool

    /// Returns the error that the line does not match the conditions by which it was found.
    func contradiction(at location: Location) -> any Error
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
