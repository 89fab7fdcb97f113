public import GatewayCore
public import GatewaySupport
internal import Synchronization

/// Runs queries on a journal: on its indexes where they are usable, and otherwise on the segments.
///
/// Both give the same results. An index that turns out to be damaged is removed, the query continues on its segment,
/// and the next `update` builds it again. Functions block. Safe to use from any thread; `update` is confined to one
/// thread at a time.
public final class AuditTrail: Sendable {
    let files: SegmentFiles
    /// The indexes; used by queries once `update` has run.
    let index: AuditIndex
    private let usesIndex = Mutex(false)

    /// Creates a trail for the journal in the directory. Opens no file.
    ///
    /// - Parameters:
    ///   - minimumFree: The number of free bytes below which the journal rejects calls. No index is written
    ///   that would leave less than twice as many; 0 turns the check off.
    ///   - seal: The seal of the indexes; nil for indexes without one, as tests write them.
    public convenience init(directory: String, minimumFree: Int = 0, seal: IndexSeal? = nil) {
        self.init(SegmentFiles(directory: directory), minimumFree: minimumFree, seal: seal)
    }

    init(
        _ files: SegmentFiles, minimumFree: Int = 0, seal: IndexSeal? = nil, partSizes: PartialIndex.PartSizes = .init()
    ) {
        self.files = files
        index = AuditIndex(files, minimumFree: minimumFree, seal: seal, partSizes: partSizes)
    }

    /// Updates the indexes from the segments.
    ///
    /// - Parameters:
    ///   - progress: Receives the bytes that are indexed and the total, before each segment and at the end.
    ///   - isWanted: Checked before each block. If it returns false, the update stops and a later update continues.
    /// - Returns: The reason why the indexes are incomplete; nil if they are not. Queries then read the rest of the
    ///   segments themselves.
    @discardableResult
    public func update(
        progress: (UInt64, UInt64) -> Void = { _, _ in }, isWanted: () -> Bool = { true }
    ) -> AuditIndex.Failure? {
        allowIndexes()
        do throws(AuditIndex.Failure) {
            try index.update(progress: progress, isWanted: isWanted)
            return nil
        } catch {
            return error
        }
    }

    /// Lets queries use the indexes that exist.
    func allowIndexes() { usesIndex.withLock { $0 = true } }

    /// Passes the matching lines to `onLine` in the journal's order, without their line feeds.
    ///
    /// - Parameter limit: The maximum number of lines. If more match, the newest are returned.
    /// - Returns: Whether more lines match than the limit.
    @discardableResult
    public func lines(
        _ query: AuditQuery, limit: Int = .max, onLine: ([UInt8]) throws -> Void
    ) throws -> Bool {
        var last: UInt64?
        return try run { locator in
            try AuditListing(query, locator).lines(limit: limit) { location, line in
                // If an index turns out to be damaged midway, the query continues after the lines already passed on.
                if let last, location.number <= last { return }
                try onLine(line)
                last = location.number
            }
        }
    }

    /// Passes each call with a matching line to `onCall`, with all lines of the call. A line without a call is passed
    /// alone.
    ///
    /// - Parameter limit: The maximum number of calls. If more match, the newest are returned.
    /// - Returns: Whether more calls match than the limit.
    @discardableResult
    public func calls(_ query: AuditQuery, limit: Int, onCall: ([[UInt8]]) throws -> Void) throws -> Bool {
        var last: UInt64?
        return try run { locator in
            try AuditListing(query, locator).calls(limit: limit) { location, lines in
                if let last, location.number <= last { return }
                try onCall(lines.map(\.line))
                last = location.number
            }
        }
    }

    /// Returns a page of a list, the newest rows first.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of rows.
    ///   - isOfCalls: Whether a row is a call with a matching line, with all of its lines. Otherwise it is one line.
    ///   - mostExamined: The number of lines after which the page ends, also with fewer rows.
    ///   - byteLimit: The maximum number of bytes of segments that are read because they have no index yet.
    ///   - isWanted: Checked during the query. If it returns false, the query throws.
    func page(
        _ query: AuditQuery, limit: Int, isOfCalls: Bool, mostExamined: Int, byteLimit: UInt64 = .max,
        isWanted: @escaping () -> Bool = { true }
    ) throws -> AuditPage {
        try run(byteLimit: byteLimit, isWanted: isWanted) { locator in
            let page = try AuditListing(query, locator)
                .page(limit: limit, isOfCalls: isOfCalls, mostExamined: mostExamined)
            return AuditPage(
                rows: page.rows.map { $0.map(\.line) }, next: page.next,
                top: query.top ?? page.newest.map { $0.number + 1 })
        }
    }

    /// Returns the senders who notified the user since the time, most frequent first.
    public func senders(to user: UserName, since: WallTime) throws -> [SenderSummary] {
        try run { try $0.senders(to: user, since: since) }
    }

    /// Returns the newest sends to the user that may have reached the backend, newest first.
    ///
    /// - Parameters:
    ///   - byteLimit: The maximum number of bytes of segments that are read because they have no index yet.
    ///   - isWanted: Checked during the query. If it returns false, the query throws.
    func received(
        by user: UserName, since: WallTime, limit: Int, byteLimit: UInt64 = .max,
        isWanted: @escaping () -> Bool = { true }
    ) throws -> [ReceivedNotification] {
        try run(byteLimit: byteLimit, isWanted: isWanted) { try $0.received(by: user, since: since, limit: limit) }
    }

    /// Releases the memory of the indexes.
    public func close() {
        usesIndex.withLock { $0 = false }
        index.close()
    }

    private func run<Output>(
        byteLimit: UInt64 = .max, isWanted: @escaping () -> Bool = { true },
        _ query: (AuditReader) throws -> Output
    ) throws -> Output {
        while true {
            let indexes = usesIndex.withLock { $0 } ? index : nil
            do {
                return try query(AuditReader(files, indexes, byteLimit: byteLimit, isWanted: isWanted))
            } catch let failure as AuditIndex.Failure {
                // Each attempt removes an index, so the attempts end.
                guard let segment = failure.damagedSegment, indexes != nil, index.discard(segment) else {
                    throw failure
                }
            } catch let failure as FileFailure {
                throw AuditIndex.Failure(failure)
            }
        }
    }
}
