internal import GatewayStore
internal import GatewaySupport
internal import Logging
internal import OutboundHTTP

extension AuditSink {
    /// Reads the position and returns the work to begin with.
    func start(_ now: UInt64) async -> Work? {
        guard let (content, receiverKeepsPosition) = await loadPosition() else { return nil }
        var work: Work
        switch content {
        case .position(let position):
            work = Work(position: position, isUnstored: false)
            if position.next > journal.followers.durableEnd {
                logger.error(
                    "Journal ends before the position of the audit sink; all of its records are sent",
                    metadata: ["position": "\(position.next)", "end": "\(journal.followers.durableEnd)"])
                work = Work(position: .oldest, isUnstored: true)
            }
        case .missing:
            let first = settings.start == .oldest ? JournalPosition.oldest : JournalPosition(before: now)
            work = Work(position: first, isUnstored: true)
        case .damaged(let reason):
            logger.error(
                "Position of the audit sink is damaged; all records of the journal are sent",
                metadata: ["detail": "\(reason)"])
            work = Work(position: .oldest, isUnstored: true)
        }
        work.receiverKeepsPosition = receiverKeepsPosition
        adopt(work.position)
        return work
    }

    /// Asks the receiver for the position or reads the cursor. Repeats that after an error, which says nothing about the
    /// position. Returns nil if the task was cancelled.
    private func loadPosition() async -> (SinkCursor.Content, receiverKeepsPosition: Bool)? {
        var delay = RetryDelay(longest: destination.longestRetryDelay)
        while !Task.isCancelled {
            do throws(DeliveryFailure) {
                if let number = try await destination.position() { return (.position(.init(before: number)), true) }
                return (try await thread.run { [cursor] () throws(DeliveryFailure) in try cursor.load() }, false)
            } catch {
                if Task.isCancelled { break }
                metrics.failures.add()
                let wait = delay.next(after: nil, jitter: timing.jitter())
                logger.error(
                    "Position of the audit sink cannot be read",
                    metadata: ["detail": "\(error.reason)", "retry-after": "\(wait.configured)"])
                try? await timing.sleep(wait)
            }
        }
        return nil
    }
}
