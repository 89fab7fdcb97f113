internal import Foundation
public import GatewayCore
internal import Synchronization

/// Answers questions about a journal: from its index where that can be used, otherwise from the segments.
///
/// The answers are the same either way. A damaged index is closed, removed, and made anew by the next `update`. Blocks; belongs to one
/// thread at a time.
public final class AuditTrail: Sendable {
    private let files: SegmentFiles
    private let state = Mutex(State())

    private struct State {
        var index: AuditIndex?
        var obstacle: AuditIndex.Failure?
    }

    /// The trail of the journal in the directory. Opens nothing yet.
    public convenience init(directory: String) { self.init(SegmentFiles(directory: directory)) }

    init(_ files: SegmentFiles) { self.files = files }

    /// Opens the index and brings it up to what the segments hold; a damaged one is made anew.
    ///
    /// - Parameters:
    ///   - makesAnew: Whether a damaged index is made anew at once; otherwise it is at the next update.
    ///   - progress: Told now and then how many bytes of how many have been read.
    ///   - isWanted: Asked before each block; where it is wanted no longer, the rest is left for the next time.
    /// - Returns: Why the index cannot be used, nil where it can.
    @discardableResult
    public func update(
        makesAnew: Bool = true, progress: (UInt64, UInt64) -> Void = { _, _ in }, isWanted: () -> Bool = { true }
    ) -> AuditIndex.Failure? {
        var obstacle: AuditIndex.Failure?
        for _ in 0..<(makesAnew ? Self.attempts : 1) {
            do throws(AuditIndex.Failure) {
                let index = try opened()
                try index.update(progress: progress, isWanted: isWanted)
                obstacle = nil
                break
            } catch {
                obstacle = error
                guard drop(for: error) else { break }
            }
        }
        state.withLock { $0.obstacle = obstacle }
        return obstacle
    }

    /// A damaged index is made anew once; one that is damaged again at once is left alone until somebody asks again.
    private static let attempts = 2

    /// Hands over the lines that fit, in the journal's order; each as it stands in its segment, without its line feed.
    ///
    /// - Parameter limit: How many at most; where there are more, the newest.
    /// - Returns: Whether there are more than the limit.
    @discardableResult
    public func lines(
        _ query: AuditQuery, limit: Int = .max, onLine: ([UInt8]) throws -> Void
    ) throws -> Bool {
        var last: UInt64?
        return try answer { locator in
            try AuditListing(query, locator, files).lines(limit: limit) { number, line in
                // Where the index failed on the way, the scan goes on behind what was handed over.
                if let last, number <= last { return }
                try onLine(line)
                last = number
            }
        }
    }

    /// Hands over the calls of which a line fits, each with all its lines; a line that is about no call stands alone.
    ///
    /// - Parameter limit: How many at most; where there are more, the newest.
    /// - Returns: Whether there are more than the limit.
    @discardableResult
    public func calls(_ query: AuditQuery, limit: Int, onCall: ([[UInt8]]) throws -> Void) throws -> Bool {
        var last: UInt64?
        return try answer { locator in
            try AuditListing(query, locator, files).calls(limit: limit) { number, lines in
                if let last, number <= last { return }
                try onCall(lines)
                last = number
            }
        }
    }

    /// Who notified the user since then, who most often first.
    public func senders(to user: UserName, since: WallTime) throws -> [SenderSummary] {
        try answer { index in
            try index.senders(to: user, since: since)
        } otherwise: { scan in
            try scan.senders(to: user, since: since)
        }
    }

    /// The newest sends to the user that the backend may have seen; nil where the index cannot tell.
    func indexed(_ user: UserName, since: WallTime, limit: Int) -> [ReceivedNotification]? {
        guard let index = usable else { return nil }
        do throws(AuditIndex.Failure) {
            return try index.received(by: user, since: since, limit: limit)
        } catch {
            drop(for: error)
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

    /// The index, where it is open and was brought up to date.
    var usable: AuditIndex? { state.withLock { $0.obstacle == nil ? $0.index : nil } }

    private func answer<Answer>(_ question: (any AuditLocating) throws -> Answer) throws -> Answer {
        try answer { index in
            try question(index)
        } otherwise: { scan in
            try question(scan)
        }
    }

    private func answer<Answer>(
        _ question: (AuditIndex) throws -> Answer, otherwise scan: (AuditScan) throws -> Answer
    ) throws -> Answer {
        if let index = usable {
            do {
                return try question(index)
            } catch let failure as AuditIndex.Failure {
                drop(for: failure)
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

    func opened() throws(AuditIndex.Failure) -> AuditIndex {
        if let index = state.withLock({ $0.index }) {
            // Another process may have found damage.
            if !index.isMarkedDamaged { return index }
            drop(for: AuditIndex.Failure("another process found the index damaged", isDamage: true))
        }
        let index = try AuditIndex(files)
        state.withLock { $0.index = index }
        return index
    }

    /// Uses the index no longer until the next update. Closes and removes it where it is damaged, and says whether it was.
    @discardableResult
    func drop(for failure: AuditIndex.Failure) -> Bool {
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
