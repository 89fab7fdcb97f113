internal import Foundation
public import GatewayCore
public import GatewaySupport
internal import Synchronization

/// Runs queries on a journal: on its index if that is usable, otherwise on the segments.
///
/// Both sources give the same results. A damaged index is closed, removed, and rebuilt by the next `update`. Functions
/// block. Confined to one thread at a time.
public final class AuditTrail: Sendable {
    private let files: SegmentFiles
    private let state = Mutex(State())

    private struct State {
        var index: AuditIndex?
        var obstacle: AuditIndex.Failure?
    }

    /// Creates a trail for the journal in the directory. Opens no file.
    public convenience init(directory: String) { self.init(SegmentFiles(directory: directory)) }

    init(_ files: SegmentFiles) { self.files = files }

    /// Opens the index and updates it from the segments.
    ///
    /// - Parameters:
    ///   - rebuildsIfDamaged: Whether a damaged index is rebuilt at once. If false, the next update rebuilds it.
    ///   - progress: Receives the bytes read so far and the total, before each segment and at the end.
    ///   - isWanted: Checked before each block. If it returns false, the update stops and a later update continues.
    /// - Returns: The reason why the index cannot be used; nil if it can.
    @discardableResult
    public func update(
        rebuildsIfDamaged: Bool = true, progress: (UInt64, UInt64) -> Void = { _, _ in },
        isWanted: () -> Bool = { true }
    ) -> AuditIndex.Failure? {
        var obstacle: AuditIndex.Failure?
        for _ in 0..<(rebuildsIfDamaged ? Self.attempts : 1) {
            do throws(AuditIndex.Failure) {
                let index = try opened()
                try index.update(progress: progress, isWanted: isWanted)
                obstacle = nil
                break
            } catch {
                obstacle = error
                guard discardIndex(after: error) else { break }
            }
        }
        state.withLock { $0.obstacle = obstacle }
        return obstacle
    }

    /// A damaged index is rebuilt once. If the rebuilt index is damaged too, the next call of `update` tries again.
    private static let attempts = 2

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
            try AuditListing(query, locator, files).lines(limit: limit) { number, line in
                // If the index fails midway, the scan continues after the lines already passed on.
                if let last, number <= last { return }
                try onLine(line)
                last = number
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
            try AuditListing(query, locator, files).calls(limit: limit) { number, lines in
                if let last, number <= last { return }
                try onCall(lines)
                last = number
            }
        }
    }

    /// Returns the senders who notified the user since the time, most frequent first.
    public func senders(to user: UserName, since: WallTime) throws -> [SenderSummary] {
        try run { index in
            try index.senders(to: user, since: since)
        } otherwise: { scan in
            try scan.senders(to: user, since: since)
        }
    }

    /// Returns the newest sends to the user that may have reached the backend, from the index; nil if the index is not
    /// usable.
    func indexed(_ user: UserName, since: WallTime, limit: Int) -> [ReceivedNotification]? {
        guard let index = usableIndex else { return nil }
        do throws(AuditIndex.Failure) {
            return try index.received(by: user, since: since, limit: limit)
        } catch {
            discardIndex(after: error)
            return nil
        }
    }

    /// Closes the index.
    public func close() {
        let index = state.withLock { state in
            defer { state.index = nil }
            return state.index
        }
        index?.close()
    }

    // MARK: The index

    /// The index, if it is open and its last update succeeded.
    var usableIndex: AuditIndex? { state.withLock { $0.obstacle == nil ? $0.index : nil } }

    private func run<Output>(_ query: (any AuditLocator) throws -> Output) throws -> Output {
        try run { index in
            try query(index)
        } otherwise: { scan in
            try query(scan)
        }
    }

    private func run<Output>(
        _ query: (AuditIndex) throws -> Output, otherwise scan: (AuditScan) throws -> Output
    ) throws -> Output {
        if let index = usableIndex {
            do {
                return try query(index)
            } catch let failure as AuditIndex.Failure {
                discardIndex(after: failure)
            } catch let failure as FileFailure {
                throw AuditIndex.Failure(failure)
            }
        }
        do {
            return try scan(AuditScan(files))
        } catch let failure as FileFailure {
            throw AuditIndex.Failure(failure)
        }
    }

    /// Returns the open index, or opens it. Reopens an index that another process has marked as damaged.
    func opened() throws(AuditIndex.Failure) -> AuditIndex {
        if let index = state.withLock({ $0.index }) {
            // Another process may have marked it as damaged.
            if !index.isMarkedDamaged { return index }
            discardIndex(after: AuditIndex.Failure("another process found the index damaged", isDamage: true))
        }
        let index = try AuditIndex(files)
        state.withLock { $0.index = index }
        return index
    }

    /// Stops the use of the index until the next update. A damaged index is closed and removed.
    ///
    /// - Returns: Whether the failure is damage.
    @discardableResult
    func discardIndex(after failure: AuditIndex.Failure) -> Bool {
        let index = state.withLock { state in
            state.obstacle = failure
            defer { if failure.isDamage { state.index = nil } }
            return state.index
        }
        guard failure.isDamage else { return false }
        index?.markDamaged()
        index?.close()
        return true
    }
}
