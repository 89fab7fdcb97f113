internal import Dispatch
public import GatewayCore
internal import Glibc
public import Logging
internal import Synchronization

/// Who notified whom, asked of a running gateway: from the journal by way of its index, which is brought up to date in the
/// background when the gateway starts and again whenever somebody asks.
///
/// Safe to use from any thread; a caller resumes on its own executor. Works on a queue of its own, one question at a time.
public final class RecordedHistory: NotificationHistory {
    private let directory: String
    private let sessions: SessionRegister
    private let logger: Logger
    private let queue = DispatchQueue(label: "notify-gateway.audit", qos: .utility)
    /// Used on the queue alone.
    private let index = Mutex<AuditIndex?>(nil)
    private let waiting = Atomic(0)
    private let isReady = Atomic(false)
    private let isClosed = Atomic(false)

    /// So soon a rest ends where somebody waits, or where the journal is closed.
    private static let longestNap: UInt32 = 50_000

    /// How many questions may wait; more are told that there is no answer at present.
    static let longestQueue = 64

    /// A history of the journal in the directory. Begins to read it in the background.
    public init(directory: String, sessions: SessionRegister, logger: Logger) {
        self.directory = directory
        self.sessions = sessions
        self.logger = logger
        refresh()
    }

    /// Brings the index up to date in the background, so that nobody who asks has to wait for much; for once a minute.
    public func refresh() {
        queue.async { [self] in
            do {
                _ = try current(isPaced: isReady.load(ordering: .acquiring))
                isReady.store(true, ordering: .releasing)
            } catch  where !isClosed.load(ordering: .acquiring) {
                logger.error("the journal's index cannot be made", metadata: ["detail": "\(error)"])
            } catch {
                // Closed while it was read.
            }
        }
    }

    /// See ``NotificationHistory``. Throws while the journal is read for the first time.
    public func received(
        by user: UserName, since: WallTime?, limit: Int
    ) async throws(HistoryUnavailable) -> [ReceivedNotification] {
        guard isReady.load(ordering: .acquiring) else { throw HistoryUnavailable("the journal is being read") }
        let life: WallTime?
        do throws(LedgerUnavailable) {
            life = try await sessions.presentLife(of: user)
        } catch {
            throw HistoryUnavailable("ledger: \(error.detail)")
        }
        let earliest = max(since ?? WallTime(microseconds: 0), life ?? WallTime(microseconds: 0))
        return try await ask { index throws(AuditIndex.Failure) in
            try index.received(by: user, since: earliest, limit: limit)
        }
    }

    /// Waits for the question under way and closes the index; what of the journal has not been read is left for the next start.
    /// Blocks.
    public func close() {
        isClosed.store(true, ordering: .releasing)
        queue.sync {
            index.withLock { index in
                index?.close()
                index = nil
            }
        }
    }

    private func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (AuditIndex) throws(AuditIndex.Failure) -> Answer
    ) async throws(HistoryUnavailable) -> Answer {
        guard waiting.add(1, ordering: .relaxed).newValue <= Self.longestQueue else {
            waiting.subtract(1, ordering: .relaxed)
            throw HistoryUnavailable("too many questions wait")
        }
        let result: Result<Answer, HistoryUnavailable> = await withCheckedContinuation { continuation in
            queue.async { [self] in
                waiting.subtract(1, ordering: .relaxed)
                let result = Result { try question(try current()) }
                continuation.resume(returning: result.mapError { HistoryUnavailable("\($0)") })
            }
        }
        return try result.get()
    }

    /// The index, brought up to date. On the queue.
    ///
    /// - Parameter isPaced: whether it is to rest between blocks, as long as nobody waits for it: after a busy minute it would else
    ///   take half of the time of calls, on a machine of one processor, for seconds.
    private func current(isPaced: Bool = false) throws -> AuditIndex {
        var pace = BackgroundPace()
        func isStillWanted() -> Bool {
            if isPaced { sleep(until: .now + pace.rest()) }
            pace.begin()
            return isWanted()
        }
        return try index.withLock { opened in
            guard isWanted() else { throw AuditIndex.Failure("the journal is closed") }
            let index = try opened ?? AuditIndex(directory: directory)
            opened = index
            // Next to nothing where little was written since, and bounded by the limit on the call.
            try index.update(isWanted: isStillWanted)
            guard isWanted() else { throw AuditIndex.Failure("the journal is closed") }
            return index
        }
    }

    /// Rests, as long as nobody waits for the index.
    private func sleep(until end: ContinuousClock.Instant) {
        while isWanted(), waiting.load(ordering: .relaxed) == 0 {
            let left = (end - .now).components
            guard left.seconds > 0 || (left.seconds == 0 && left.attoseconds > 0) else { return }
            let microseconds = UInt32(clamping: left.seconds * 1_000_000 + left.attoseconds / 1_000_000_000_000)
            usleep(min(Self.longestNap, microseconds + 1))
        }
    }

    private func isWanted() -> Bool { !isClosed.load(ordering: .acquiring) }
}
