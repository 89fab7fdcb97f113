internal import GatewayCore
internal import Logging

extension JournalWriter {
    /// Seals the segment after a failure: it is never written or synchronised again, since a second attempt could succeed and
    /// the first one's bytes still be lost. Whoever waits is told; notes wait for the next segment.
    ///
    /// What the failed batch left in the sealed segment is void: the next segment starts with the same number.
    func fail(_ reason: JournalUnavailable, unwritten: [JournalQueue.Item], dropped: Int) {
        if let segment {
            closed.add(segment, before: chain.next, isSuspect: segment.damage != nil)
            segment.abandon()
        }
        segment = nil
        delay = .zero
        settings.logger.error("journal cannot be written", metadata: ["detail": "\(reason.detail)"])
        // First the outage, then the answers: whoever is told finds the reason, and nobody slips in between.
        refused += queue.set(.failure(reason))
        let waiting = unwritten.filter { $0.waiter != nil }
        refused += waiting.reduce(0) { $0 + $1.entry.lines }
        queue.putBack(unwritten.filter { $0.waiter == nil }, dropped: dropped)
        queue.refuse(waiting, reason)
    }

    /// Tries to go on in a new segment, with a record that says so as the first line. Only when that is on disk does the
    /// journal take records again.
    func mend() {
        // A checkpoint never comes first: the line says why the segment before it may go on beyond this number.
        var batch = JournalBatch(chain: chain, signer: signer)
        batch.open(clocks: settings.clocks)
        do throws(JournalUnavailable) {
            try restoreDirectory()
            findLosses()
            let records = try appendLosses(to: &batch, mayWaitForCheckpoint: true)
            if refused > 0 || unrecordedLosses.isEmpty {
                try batch.append(.recovered(.writeFailed, count: refused), mayWaitForCheckpoint: true)
            }
            // What is missing is signed at once: nobody can take it back by cutting the end off.
            if !unrecordedLosses.isEmpty { try batch.sign() }
            segment = try newSegment(startingWith: batch.bytes)
            recordedLosses += records
        } catch {
            delay = min(max(delay * 2, settings.shortestDelay), settings.longestDelay)
            queue.set(.failure(error))
            settings.logger.debug("journal still cannot be written", metadata: ["detail": "\(error.detail)"])
            return
        }
        adopt(batch)
        unrecordedLosses = []
        delay = .zero
        settings.logger.notice("journal is written again", metadata: ["refused": "\(refused)"])
        refused = 0
        queue.set(nil)
        forgetSpace()
        lookAtSpace()
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
