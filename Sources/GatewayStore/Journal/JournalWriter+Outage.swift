internal import GatewayCore
internal import GatewaySupport
internal import Logging

extension JournalWriter {
    /// Seals the segment after a failed write. It is never written or synchronized again, because a second
    /// synchronization could succeed although the kernel has dropped the bytes. Waiting callers get the error; notes
    /// wait for the next segment.
    ///
    /// Readers ignore the failed batch's lines in the sealed segment, because the next segment starts with the same
    /// number.
    func fail(_ reason: JournalUnavailable, unwritten: [JournalQueue.Item], dropped: Int) {
        if let segment {
            closedSegments.add(segment, before: chain.next, isSuspect: segment.damage != nil)
            segment.abandon()
        }
        segment = nil
        retryDelay = .zero
        settings.logger.error("Journal write failed", metadata: ["detail": "\(reason.detail)"])
        // Set the outage before resuming callers, so that they find the reason and no record is accepted in between.
        rejectedRecords += queue.setOutage(.failure(reason))
        let waiting = unwritten.filter { $0.waiter != nil }
        rejectedRecords += waiting.reduce(0) { $0 + $1.entry.lines }
        queue.requeue(unwritten.filter { $0.waiter == nil }, dropped: dropped)
        queue.fail(waiting, reason)
    }

    /// Tries to continue in a new segment whose first line records the repair. The journal accepts records again only
    /// once that line is on disk.
    func repair() {
        // No checkpoint may come first: the first line explains why the previous segment may have lines with this
        // number.
        var batch = JournalBatch(chain: chain, signer: signer)
        batch.open(clocks: settings.clocks)
        do throws(JournalUnavailable) {
            try restoreDirectory()
            findLosses()
            let records = try appendLosses(to: &batch, mayWaitForCheckpoint: true)
            if rejectedRecords > 0 || unrecordedLosses.isEmpty {
                try batch.append(.recovered(.writeFailed, count: rejectedRecords), mayWaitForCheckpoint: true)
            }
            // Sign missing lines at once, so that cutting off the end cannot hide the record.
            if !unrecordedLosses.isEmpty { try batch.sign() }
            segment = try newSegment(startingWith: batch.bytes)
            recordedLosses += records
        } catch {
            retryDelay = min(max(retryDelay * 2, settings.initialRetryDelay), settings.maximumRetryDelay)
            queue.setOutage(.failure(error))
            settings.logger.debug("Journal write failed again", metadata: ["detail": "\(error.detail)"])
            return
        }
        advance(past: batch)
        unrecordedLosses = []
        retryDelay = .zero
        // Logged after the end of the outage: a reader of the log finds records accepted.
        queue.setOutage(nil)
        settings.logger.notice("Journal writing resumed", metadata: ["rejected": "\(rejectedRecords)"])
        rejectedRecords = 0
        resetSpaceCheck()
        checkSpace()
    }

    private func newSegment(startingWith bytes: [UInt8]) throws(JournalUnavailable) -> JournalSegment {
        do throws(FileFailure) {
            var segment = try JournalSegment(first: chain.next, in: settings.directory, files: files)
            do throws(FileFailure) {
                try segment.append(bytes)
            } catch {
                segment.abandon()
                throw error
            }
            return segment
        } catch {
            throw JournalUnavailable(error.description)
        }
    }
}

extension JournalWriter {
    /// Applies changed bounds. Runs between two batches.
    func apply(_ bounds: JournalFile.Bounds) {
        settings.minimumFree = bounds.minimumFree
        settings.keep = bounds.keep
        settings.keepBytes = bounds.keepBytes
        // Check both again with the new bounds.
        (lastSpaceCheck, lastRetentionCheck, lastAgeCheck) = (nil, nil, nil)
        if bounds.minimumFree == 0, isShortOfSpace {
            isShortOfSpace = false
            queue.setOutage(nil)
        }
    }

    /// Checks the free space, at most once a second.
    func checkSpace() {
        let now = settings.clocks.monotonic()
        if let lastSpaceCheck, now.nanoseconds - lastSpaceCheck.nanoseconds < 1_000_000_000 { return }
        lastSpaceCheck = now
        settings.metrics.segmentBytes.set(
            Int64(clamping: closedSegments.bytes.addingSaturating(segment?.written.size ?? 0)))
        let found = spaceOutage()
        guard settings.minimumFree > 0 else { return }
        let lackedSpace = isShortOfSpace
        isShortOfSpace = found != nil
        if let found, !lackedSpace {
            settings.logger.error("Journal is short of disk space", metadata: ["detail": "\(found.reason.detail)"])
        }
        queue.setOutage(found)
        // Logged after the end of the outage: a reader of the log finds records accepted.
        if lackedSpace, !isShortOfSpace { settings.logger.notice("Journal has enough disk space again") }
    }

    private func spaceOutage() -> JournalQueue.Outage? {
        do throws(FileFailure) {
            let free = try files.freeBytes(at: settings.directory)
            settings.metrics.freeBytes.set(Int64(clamping: free))
            guard free < UInt64(clamping: settings.minimumFree) else { return nil }
            return .space(
                JournalUnavailable(
                    "\(free) bytes are free at \(settings.directory), at least \(settings.minimumFree) are required"))
        } catch {
            return .space(JournalUnavailable(error.description))
        }
    }

    /// Makes the next call of `checkSpace()` check the free space.
    func resetSpaceCheck() { lastSpaceCheck = nil }
}
