internal import GatewayCore
internal import Logging

// What somebody else does to the journal's files while it is written.
extension JournalWriter {
    /// Throws where the file at the open segment's path is not the one that is written, or has lost bytes.
    func requireIntactSegment() throws(JournalUnavailable) {
        guard let segment, let damage = segment.damage else { return }
        throw JournalUnavailable("\(segment.path) \(damage) while it was written")
    }

    /// Seals the open segment where it is damaged, so that the next one records what is lost. For when nothing is written.
    func inspectOpenSegment() {
        do throws(JournalUnavailable) {
            try requireIntactSegment()
        } catch {
            fail(error, unwritten: [], dropped: 0)
        }
    }

    /// Compares the closed segments and the lock with their files, some seconds apart, and records lines that are lost.
    func inspectClosedSegments() {
        guard segment != nil else { return }
        let now = settings.clocks.monotonic()
        if let closedLooked, now.nanoseconds - closedLooked.nanoseconds < Self.closedInterval { return }
        closedLooked = now
        findLosses()
        do throws(JournalUnavailable) {
            try requireLock()
            guard !unrecordedLosses.isEmpty else { return }
            begin()
            let records = try appendLosses(to: &batch)
            try batch.sign()
            try commit()
            recordedLosses += records
            unrecordedLosses = []
        } catch {
            fail(error, unwritten: [], dropped: 0)
        }
    }

    /// Looks for lines that are lost, and says so in the log and to those who ask for readiness and metrics. They are recorded
    /// with the next batch that says so.
    func findLosses() {
        for loss in closed.findLosses() {
            unrecordedLosses.append(loss)
            // A record that is lost itself is made once more.
            unrecordedLosses += recordedLosses.filter { loss.lines.contains($0.number) }.map(\.loss)
            recordedLosses.removeAll { loss.lines.contains($0.number) }
            settings.metrics.missingLines.add(loss.lines.upperBound - loss.lines.lowerBound + 1)
            queue.noteLoss("lines \(loss.lines.lowerBound) to \(loss.lines.upperBound) are missing: \(loss.what)")
            settings.logger.error(
                "Journal lines are missing",
                metadata: [
                    "first": "\(loss.lines.lowerBound)", "through": "\(loss.lines.upperBound)",
                    "detail": "\(loss.what)",
                ])
        }
    }

    /// Appends a record of each loss that has none; neighbouring losses share one.
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

    /// Makes the directory and takes its lock where they are gone.
    func restoreDirectory() throws(JournalUnavailable) {
        do throws(FileFailure) {
            try PrivateFiles.makeDirectory(settings.directory)
        } catch {
            throw JournalUnavailable(error.description)
        }
        try requireLock()
    }

    /// Takes the lock anew where its file is gone: another process would lock another file.
    private func requireLock() throws(JournalUnavailable) {
        guard !lock.isInPlace else { return }
        do throws(FileFailure) {
            lock = try LockFile(settings.directory + "/lock")
        } catch {
            throw JournalUnavailable(error.description)
        }
        settings.logger.error(
            "Journal lock was deleted and is taken anew", metadata: ["directory": "\(settings.directory)"])
    }

    /// How far apart closed segments are compared with their files, in nanoseconds.
    private static let closedInterval: Int64 = 10_000_000_000
}
