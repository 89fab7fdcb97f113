internal import GatewayCore
internal import GatewaySupport

extension JournalWriter {
    /// Starts a new segment if the current one is full or has reached its maximum age. Signs the unsigned lines first.
    func rotateIfDue() throws(JournalUnavailable) {
        guard let full = segment else { return }
        let now = settings.clocks.monotonic()
        let age = Duration.nanoseconds(now.nanoseconds - segmentStarted.nanoseconds)
        guard full.length >= settings.segmentBytes || age >= settings.segmentAge else { return }
        if signer?.hasUnsigned == true {
            beginBatch()
            try batch.sign()
            try commitBatch()
        }
        if let segment {
            segment.close()
            closedSegments.add(segment, before: chain.next)
        }
        segment = nil
        do throws(FileFailure) {
            segment = try JournalSegment(first: chain.next, in: settings.directory, files: files)
        } catch {
            throw JournalUnavailable(error.description)
        }
        segmentStarted = now
        // The closed segment counts towards retention. Make the next `enforceRetention()` check at once.
        lastRetentionCheck = nil
    }
}
