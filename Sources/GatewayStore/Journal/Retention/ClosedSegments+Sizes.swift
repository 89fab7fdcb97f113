internal import GatewayCore
internal import GatewaySupport

// Retention by size removes segments because of the sizes of others. Whoever can write into the directory, without the key,
// could have the gateway remove and sign away everything with one file of any length, which takes no space. So only what the
// writer wrote counts, and any other file stops the removal.
extension ClosedSegments {
    /// The number of bytes at a segment's beginning that are searched for its first line.
    private static let headBytes = 64 << 10
    /// The number of bytes at a segment's end in which its last line usually is.
    private static let tailBytes = 64 << 10

    /// Returns the first file that the writer did not write, or that has grown, with what is wrong with it; nil without one.
    ///
    /// - Parameters:
    ///   - fileNames: The names of the directory's files.
    ///   - open: The segment that is being written.
    func foreignFile(among fileNames: [String], besides open: JournalSegment) -> String? {
        if let name = JournalSegmentName.foreign(among: fileNames).first {
            return "\(name) is not a segment of the journal"
        }
        let known = Set(names)
        for name in JournalSegmentName.segments(among: fileNames) where name != open.name {
            if !known.contains(name) { return "\(name.text) was not written by this gateway" }
        }
        return names.lazy.compactMap { name in growth(of: name) }.first
            ?? growth(of: open.name, beyond: open.maximumSize)
    }

    private func growth(of name: JournalSegmentName) -> String? {
        maximumSize(of: name).flatMap { growth(of: name, beyond: $0) }
    }

    private func growth(of name: JournalSegmentName, beyond most: UInt64) -> String? {
        guard let size = try? files.identity(path(name)).size, size > most else { return nil }
        return "\(name.text) has grown to \(size) bytes, of which at most \(most) were written"
    }

    /// Confirms the sizes of segments from before the start: a segment ends with the line before the next segment, to whose
    /// first line the chain leads. Each is read once, at its ends.
    ///
    /// The files after a segment may have been deleted. Then it must have a signed checkpoint, and its size does not count.
    ///
    /// - Parameters:
    ///   - open: The segment that is being written.
    ///   - keys: The keys that may have signed.
    ///   - fullBytes: The length of a full segment with its last batch. More does not count.
    /// - Returns: The first segment that cannot be confirmed, with the reason; nil if all can.
    mutating func confirmSizes(
        before open: JournalSegmentName, signedBy keys: [Ed25519.PublicKey], fullBytes: UInt64
    ) throws(FileFailure) -> String? {
        let names = names
        for (index, name) in names.enumerated() where !isConfirmed(name) {
            let next = index + 1 < names.count ? names[index + 1] : open
            let head = try files.read(path(next), first: Self.headBytes)
            let first = ChainCheck.endOfLine(in: head, from: 0).map { JournalLineReader(bytes: head[..<$0]) }
            guard size(of: name) <= JournalSegment.maximumBytes else {
                return "\(name.text) has \(size(of: name)) bytes, more than any segment that is written"
            }
            var bytes = try files.read(path(name), last: Self.tailBytes)
            var tail = SegmentTail(number: next.first - 1, in: bytes)
            if tail == nil {
                // The lines of a failed batch may follow the last valid line.
                bytes = try files.read(path(name), last: JournalRecovery.maximumTornBytes)
                tail = SegmentTail(number: next.first - 1, in: bytes)
            }
            if let tail, tail.hash.hexDigits == first?.previous {
                let rest = bytes[tail.end...]
                // Preallocated line feeds follow, or the lines of a failed write.
                guard rest.allSatisfy({ $0 == UInt8(ascii: "\n") }) || first?.kind == .recovered else {
                    return "\(name.text) has grown behind line \(tail.number), with which it ended"
                }
                confirm(name, atMost: min(fullBytes, size(of: name).subtractingSaturating(UInt64(rest.count))))
            } else if Self.hasCheckpoint(bytes, of: name, before: next, keys) {
                confirm(name, atMost: 0)
            } else {
                return "\(next.text) does not continue \(name.text), which has no signed checkpoint near its end"
            }
        }
        return nil
    }

    private static func hasCheckpoint(
        _ bytes: [UInt8], of name: JournalSegmentName, before next: JournalSegmentName, _ keys: [Ed25519.PublicKey]
    ) -> Bool {
        var order = LineOrder(from: name.first, before: next.first)
        return order.lines(in: bytes).lazy.reversed().contains {
            JournalLineReader(bytes: $0).isCheckpoint(signedBy: keys)
        }
    }
}
