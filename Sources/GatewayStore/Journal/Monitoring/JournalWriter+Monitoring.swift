internal import GatewayCore
internal import GatewaySupport
internal import Logging

// Detection of changes that others make to the journal's files while it is written.
extension JournalWriter {
    /// Throws if the file at the open segment's path is another one or was truncated.
    func requireIntactSegment() throws(JournalUnavailable) {
        guard let segment, let damage = segment.damage else { return }
        throw JournalUnavailable("\(segment.path) \(damage) while it was written")
    }

    /// Seals the open segment if it is damaged, so that the next segment records the loss, and removes what others have
    /// written behind its last line. Called while nothing is written.
    func inspectOpenSegment() {
        do throws(JournalUnavailable) {
            try requireIntactSegment()
            try removeForeignLines()
        } catch {
            fail(error, unwritten: [], dropped: 0)
        }
    }

    private func removeForeignLines() throws(JournalUnavailable) {
        do throws(FileFailure) {
            guard try segment?.removeForeignLines() == true, let segment else { return }
            settings.logger.error(
                "Journal had lines that the gateway did not write; they were removed",
                metadata: ["segment": "\(segment.name.text)", "after": "\(chain.next - 1)"])
        } catch {
            throw JournalUnavailable(error.description)
        }
    }

    /// Compares the closed segments and the lock with their files, at most every 10 s, and records lost lines.
    func inspectClosedSegments() {
        guard segment != nil else { return }
        let now = settings.clocks.monotonic()
        if let lastClosedCheck, now.nanoseconds - lastClosedCheck.nanoseconds < Self.closedInterval { return }
        lastClosedCheck = now
        findLosses()
        do throws(JournalUnavailable) {
            try requireLock()
            guard !unrecordedLosses.isEmpty else { return }
            beginBatch()
            let records = try appendLosses(to: &batch)
            try batch.sign()
            try commitBatch()
            recordedLosses += records
            unrecordedLosses = []
        } catch {
            fail(error, unwritten: [], dropped: 0)
        }
    }

    /// Detects lost lines and reports them in the log, the metrics and the readiness state. The next batch with
    /// ``appendLosses(to:mayWaitForCheckpoint:)`` records them.
    func findLosses() {
        for loss in closedSegments.findLosses() {
            unrecordedLosses.append(loss)
            // A record of an earlier loss that is lost itself is written again.
            unrecordedLosses += recordedLosses.filter { loss.lines.contains($0.number) }.map(\.loss)
            recordedLosses.removeAll { loss.lines.contains($0.number) }
            settings.metrics.missingLines.add(loss.lines.upperBound - loss.lines.lowerBound + 1)
            queue.recordLoss("lines \(loss.lines.lowerBound) to \(loss.lines.upperBound) are missing: \(loss.what)")
            settings.logger.error(
                "Journal lines are missing",
                metadata: [
                    "first": "\(loss.lines.lowerBound)", "through": "\(loss.lines.upperBound)",
                    "detail": "\(loss.what)",
                ])
        }
    }

    /// Appends a record of each unrecorded loss. Adjoining losses share a record.
    ///
    /// - Returns: The losses with the numbers of their records, to be kept once the batch is on disk.
    func appendLosses(
        to batch: inout JournalBatch, mayWaitForCheckpoint: Bool = false
    ) throws(JournalUnavailable) -> [(loss: ClosedSegments.Loss, number: UInt64)] {
        unrecordedLosses = ClosedSegments.Loss.joined(unrecordedLosses)
        var records: [(loss: ClosedSegments.Loss, number: UInt64)] = []
        for loss in unrecordedLosses {
            try batch.append(.linesMissing(loss.lines), mayWaitForCheckpoint: mayWaitForCheckpoint)
            records.append((loss, batch.chain.next - 1))
        }
        return records
    }

    /// Creates the directory and acquires its lock again if they were deleted.
    func restoreDirectory() throws(JournalUnavailable) {
        do throws(FileFailure) {
            try PrivateFiles.makeDirectory(settings.directory)
        } catch {
            throw JournalUnavailable(error.description)
        }
        try requireLock()
    }

    /// Acquires the lock again if its file was deleted. Otherwise another process could lock a new file.
    private func requireLock() throws(JournalUnavailable) {
        guard !lock.isInPlace else { return }
        do throws(FileFailure) {
            lock = try LockFile(settings.directory + "/lock")
        } catch {
            throw JournalUnavailable(error.description)
        }
        settings.logger.error(
            "Journal lock file was deleted; lock acquired again", metadata: ["directory": "\(settings.directory)"])
    }

    /// The minimum time between comparisons of closed segments, in nanoseconds.
    private static let closedInterval: Int64 = 10_000_000_000
}
