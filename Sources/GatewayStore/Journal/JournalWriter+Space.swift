internal import GatewayCore
internal import GatewaySupport
internal import Logging

extension JournalWriter {
    func apply(_ bounds: JournalFile.Bounds) {
        settings.minimumFree = bounds.minimumFree
        settings.keep = bounds.keep
        settings.keepBytes = bounds.keepBytes
        // Check both again with the new bounds.
        (lastSpaceCheck, lastRetentionCheck, lastAgeCheck) = (nil, nil, nil)
        if bounds.minimumFree == 0, lacksSpace {
            lacksSpace = false
            queue.set(nil)
        }
    }

    /// Checks the free space, at most once a second.
    func checkSpace() {
        let now = settings.clocks.monotonic()
        if let lastSpaceCheck, now.nanoseconds - lastSpaceCheck.nanoseconds < 1_000_000_000 { return }
        lastSpaceCheck = now
        settings.metrics.segmentBytes.set(Int64(clamping: closed.bytes + (segment?.written.size ?? 0)))
        let found = spaceOutage()
        guard settings.minimumFree > 0 else { return }
        let lackedSpace = lacksSpace
        lacksSpace = found != nil
        if let found, !lackedSpace {
            settings.logger.error("Journal is short of disk space", metadata: ["detail": "\(found.reason.detail)"])
        }
        queue.set(found)
        // Logged after the end of the outage: a reader of the log finds records accepted.
        if lackedSpace, !lacksSpace { settings.logger.notice("Journal has enough disk space again") }
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
