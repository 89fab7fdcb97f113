internal import GatewayCore
internal import GatewaySupport
internal import Logging

extension JournalWriter {
    /// Removes the oldest segments that exceed the maximum age or total size. Before each removal, a signed line that
    /// announces it is written to disk. The writer calls this at the start and after each pass of its loop; it does
    /// nothing without a signing key, during an outage, or within the retention interval (one hour) after the last
    /// check, unless a segment was started since. Age is checked at most once in an interval, and only if the clock is
    /// trusted. A segment with lines that a follower needs is removed only because of the total size.
    ///
    /// One check removes at most a tenth of the segments, or one if a tenth is less than one. This gives the operator
    /// time to notice a wrong clock or limit before everything is removed.
    func enforceRetention() {
        guard signer != nil, segment != nil else { return }
        // Both clocks are read together, because a difference between them means that the clock was set.
        let (now, time) = (settings.clocks.monotonic(), settings.clocks.wall())
        if let lastRetentionCheck, now.nanoseconds - lastRetentionCheck.nanoseconds < interval { return }
        lastRetentionCheck = now
        do throws(JournalUnavailable) {
            try removeExpiredSegments(now: now, at: time)
        } catch {
            fail(error, unwritten: [], dropped: 0)
        }
    }

    private var interval: Int64 {
        let (seconds, attoseconds) = settings.retentionInterval.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// Throws if the journal cannot be written. Segments that cannot be read or removed are kept.
    private func removeExpiredSegments(now: MonotonicInstant, at time: WallTime) throws(JournalUnavailable) {
        guard let open = segment else { return }
        let isTooLong: () -> Bool
        do throws(FileFailure) {
            isTooLong = try sizeExcess(of: open)
        } catch {
            return reportRemovalFailure(error)
        }
        let isAgeDue = lastAgeCheck.map { now.nanoseconds - $0.nanoseconds >= interval } ?? true
        if isAgeDue { lastAgeCheck = now }
        let trust = retentionClock.trust(now: time, at: now)
        let oldest = time.adding(-Int64(clamping: settings.keep.components.seconds) * 1_000_000)
        let segments = closedSegments.names + [open.name]
        for (index, (name, next)) in zip(segments, segments.dropFirst()).prefix(max(1, segments.count / 10))
            .enumerated()
        {
            let isRequired = settings.followers.firstRequired.map { $0 < next.first } ?? false
            let end: SegmentTail
            do throws(FileFailure) {
                if !isTooLong() {
                    guard isAgeDue, !isRequired, let written = try signedTime(from: segments[index...]),
                        written < oldest, allowsAgeRemoval(trust)
                    else { return }
                }
                end = try lastLine(of: name, before: next)
            } catch {
                return reportRemovalFailure(error)
            }
            beginBatch()
            // If line numbers are missing before the next segment, this one was truncated or another was deleted.
            // Record that first; otherwise the removal line would cover up the loss.
            let missing = (end.number + 1)..<next.first
            if !missing.isEmpty { try batch.append(.linesMissing(ClosedRange(missing))) }
            try batch.appendRemoval(through: end)
            try commitBatch()
            do throws(FileFailure) {
                try files.remove(path(name))
                try files.synchronizeDirectory(settings.directory)
            } catch {
                return reportRemovalFailure(error)
            }
            signedTails[name] = nil
            closedSegments.remove(name)
            if isRequired { reportRequiredRemoval(of: name, through: end.number) }
            settings.logger.notice(
                "Journal segment removed", metadata: ["segment": "\(name.text)", "through": "\(end.number)"])
        }
    }

    /// Returns whether the segments exceed the maximum size, as a function of what is left of them. It is false, and the log says
    /// why, while the directory has a file that this gateway did not write, or a segment has grown.
    private func sizeExcess(of open: JournalSegment) throws(FileFailure) -> () -> Bool {
        let limit = UInt64(clamping: settings.keepBytes)
        let isTooLong = { [self] in closedSegments.bytes.addingSaturating(open.written.size) > limit }
        var problem = closedSegments.foreignFile(among: try files.fileNames(in: settings.directory), besides: open)
        // Read only if it matters.
        if problem == nil, isTooLong() {
            problem = try closedSegments.confirmSizes(before: open.name, signedBy: ownKeys)
        }
        if let problem, problem != reportedForeignFile {
            settings.logger.error(
                "Journal has a file that the gateway did not write; its size removes no segments",
                metadata: ["directory": "\(settings.directory)", "detail": "\(problem)"])
        }
        reportedForeignFile = problem
        return problem == nil && closedSegments.areConfirmed ? isTooLong : { false }
    }

    private var ownKeys: [Ed25519.PublicKey] { [settings.signingKey?.publicKey].compactMap(\.self) }

    /// Returns a time before which the first of the segments was written, from the first signed line with which one of them
    /// ends; nil without one. Anybody could change the times of other lines.
    private func signedTime(from segments: ArraySlice<JournalSegmentName>) throws(FileFailure) -> WallTime? {
        for (name, next) in zip(segments, segments.dropFirst()) {
            if let known = signedTails[name] { return known }
            let bytes = try files.read(path(name), last: 64 << 10)
            guard let tail = SegmentTail(number: next.first - 1, in: bytes), tail.isCheckpoint(signedBy: ownKeys) else {
                continue
            }
            signedTails[name] = tail.time
            return tail.time
        }
        return nil
    }

    private func lastLine(
        of name: JournalSegmentName, before next: JournalSegmentName
    ) throws(FileFailure) -> SegmentTail {
        let path = path(name)
        // The hash of the last line is signed, and must be the one that the next segment continues.
        let head = try files.read(self.path(next), first: 64 << 10)
        let previous = ChainCheck.endOfLine(in: head, from: 0).flatMap {
            JournalLineReader(bytes: head[..<$0]).previous
        }
        // The lines of a failed batch may follow the last valid line, so a second, longer read may be needed.
        for length in [64 << 10, JournalRecovery.maximumTornBytes] {
            let bytes = try files.read(path, last: length)
            if let end = SegmentTail(number: next.first - 1, in: bytes), end.hash.hexDigits == previous { return end }
        }
        // If lines are missing before the next segment, this one still ends with a complete line.
        let bytes = try files.read(path, last: JournalRecovery.maximumTornBytes)
        if let end = SegmentTail(lastIn: bytes), (name.first..<(next.first - 1)).contains(end.number) { return end }
        // Verification reports this damage, so keep everything that it may need.
        throw FileFailure(unfit: path, "does not end with line \(next.first - 1) and is kept")
    }

    private func allowsAgeRemoval(_ trust: RetentionClock.Trust) -> Bool {
        switch trust {
        case .trusted: return true
        case .tooEarly: return false
        case .distrusted(let reason):
            if !hasReportedDistrust {
                settings.logger.warning(
                    "Expired journal segments kept: the clock may be wrong",
                    metadata: ["detail": "\(reason)"])
            }
            hasReportedDistrust = true
            return false
        }
    }

    private func path(_ name: JournalSegmentName) -> String { settings.directory + "/" + name.text }

    private func reportRequiredRemoval(of name: JournalSegmentName, through last: UInt64) {
        let followers = settings.followers.names(requiring: last)
        let metadata: Logger.Metadata = ["segment": "\(name.text)", "through": "\(last)"]
        if followers.contains(JournalFollowers.archive) {
            settings.logger.error("Journal segment removed that is not archived", metadata: metadata)
        }
        if followers.contains(where: { $0 != JournalFollowers.archive }) {
            settings.logger.error("Journal segment removed that a sink has not confirmed", metadata: metadata)
        }
    }

    private func reportRemovalFailure(_ failure: FileFailure) {
        settings.logger.error(
            "Journal retention failed; segments are kept", metadata: ["detail": "\(failure.description)"])
    }
}
