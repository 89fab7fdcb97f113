internal import GatewayCore
internal import Logging

extension JournalWriter {
    /// Removes the oldest segments that are too old or too many, each only when a signed line on disk says so. Looks once an
    /// hour, and when a segment was begun; for age once an hour only, and where the clock is believed.
    ///
    /// A look removes a tenth of the segments at most, or one: a wrong clock or a mistaken bound is noticed before all is gone.
    func retire() {
        guard signer != nil, segment != nil else { return }
        // Read one right behind the other: a difference between them is a clock that was set.
        let (now, time) = (settings.clocks.monotonic(), settings.clocks.wall())
        if let retentionLooked, now.nanoseconds - retentionLooked.nanoseconds < interval { return }
        retentionLooked = now
        do throws(JournalUnavailable) {
            try retireSegments(now: now, at: time)
        } catch {
            fail(error, unwritten: [], dropped: 0)
        }
    }

    private var interval: Int64 {
        let (seconds, attoseconds) = settings.retentionInterval.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// Throws where the journal cannot be written. Where only the old segments cannot be read or removed, they stay.
    private func retireSegments(now: MonotonicInstant, at time: WallTime) throws(JournalUnavailable) {
        var segments: [JournalSegmentName]
        var total: UInt64 = 0
        var sizes: [UInt64] = []
        do throws(FileFailure) {
            segments = try files.names(in: settings.directory).compactMap { JournalSegmentName($0) }.sorted()
            for name in segments { sizes.append(try files.size(path(name))) }
        } catch {
            return complain(error)
        }
        total = sizes.reduce(0, +)
        let isAgeDue = ageLooked.map { now.nanoseconds - $0.nanoseconds >= interval } ?? true
        if isAgeDue { ageLooked = now }
        let trust = retentionClock.trust(now: time, at: now)
        let oldest = time.adding(-Int64(clamping: settings.keep.components.seconds) * 1_000_000)
        // The last one is being written.
        for (index, name) in segments.dropLast().prefix(max(1, segments.count / 10)).enumerated() {
            let end: SegmentEnd
            do throws(FileFailure) {
                end = try self.end(of: name, before: segments[index + 1])
            } catch {
                return complain(error)
            }
            if total <= UInt64(clamping: settings.keepBytes) {
                guard isAgeDue, end.time < oldest, isBelieved(trust) else { return }
            }
            begin()
            // The segment was cut, or another one is gone: without a record the lines would pass for removed ones.
            let missing = (end.number + 1)..<segments[index + 1].first
            if !missing.isEmpty { try batch.append(.linesMissing(ClosedRange(missing))) }
            try batch.retire(end)
            try commit()
            do throws(FileFailure) {
                try files.remove(path(name))
                try files.synchronizeDirectory(settings.directory)
            } catch {
                return complain(error)
            }
            total -= sizes[index]
            knownEnds[name] = nil
            closed.remove(name)
            settings.logger.notice(
                "journal segment was removed", metadata: ["segment": "\(name.text)", "through": "\(end.number)"])
        }
    }

    private func end(of name: JournalSegmentName, before next: JournalSegmentName) throws(FileFailure) -> SegmentEnd {
        if let known = knownEnds[name] { return known }
        let path = path(name)
        // Behind the last line that counts there may be a failed batch, so the first look may be too short.
        for length in [64 << 10, JournalRecovery.longestTornTail] {
            let bytes = try files.read(path, last: length)
            if let end = SegmentEnd(number: next.first - 1, in: bytes) {
                knownEnds[name] = end
                return end
            }
        }
        // Where lines are missing up to the next segment, the one before ends with a whole line all the same.
        let bytes = try files.read(path, last: JournalRecovery.longestTornTail)
        if let end = SegmentEnd(lastIn: bytes), (name.first..<(next.first - 1)).contains(end.number) { return end }
        // Damage is for verification to name, and nothing that it could need is removed.
        throw FileFailure(unfit: path, "does not end with line \(next.first - 1); it is kept")
    }

    private func isBelieved(_ trust: RetentionClock.Trust) -> Bool {
        switch trust {
        case .believed: return true
        case .tooEarly: return false
        case .doubted(let reason):
            if !hasReportedDoubt {
                settings.logger.warning(
                    "Journal segments that seem too old are kept: the clock may be wrong",
                    metadata: ["detail": "\(reason)"])
            }
            hasReportedDoubt = true
            return false
        }
    }

    private func path(_ name: JournalSegmentName) -> String { settings.directory + "/" + name.text }

    private func complain(_ failure: FileFailure) {
        settings.logger.error("journal segments cannot be removed", metadata: ["detail": "\(failure.description)"])
    }
}
