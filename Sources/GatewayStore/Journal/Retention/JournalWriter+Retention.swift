internal import GatewayCore
internal import Logging

extension JournalWriter {
    /// Removes the oldest segments that are too old or too many, each only when a signed line on disk says so. Looks once an
    /// hour, and when a segment was begun.
    func retire() {
        guard signer != nil, segment != nil else { return }
        let now = settings.clocks.monotonic()
        if let retentionLooked, now.nanoseconds - retentionLooked.nanoseconds < interval { return }
        retentionLooked = now
        do throws(JournalUnavailable) {
            try retireSegments()
        } catch {
            fail(error, unwritten: [], dropped: 0)
        }
    }

    private var interval: Int64 {
        let (seconds, attoseconds) = settings.retentionInterval.components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// Throws where the journal cannot be written. Where only the old segments cannot be read or removed, they stay.
    private func retireSegments() throws(JournalUnavailable) {
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
        let oldest = settings.clocks.wall().adding(-Int64(clamping: settings.keep.components.seconds) * 1_000_000)
        // The last one is being written.
        for (index, name) in segments.dropLast().enumerated() {
            let end: SegmentEnd
            do throws(FileFailure) {
                end = try self.end(of: name, before: segments[index + 1])
            } catch {
                return complain(error)
            }
            guard total > UInt64(clamping: settings.keepBytes) || end.time < oldest else { return }
            begin()
            try retireInBatch(end)
            try commit()
            do throws(FileFailure) {
                try files.remove(path(name))
                try files.synchronizeDirectory(settings.directory)
            } catch {
                return complain(error)
            }
            total -= sizes[index]
            knownEnds[name] = nil
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
        // Damage is for verification to name, and nothing that it could need is removed.
        throw FileFailure(unfit: path, "does not end with line \(next.first - 1); it is kept")
    }

    private func path(_ name: JournalSegmentName) -> String { settings.directory + "/" + name.text }

    private func complain(_ failure: FileFailure) {
        settings.logger.error("journal segments cannot be removed", metadata: ["detail": "\(failure.description)"])
    }
}
