internal import GatewayCore
internal import GatewaySupport

// A journal must not go on after lines that its writer did not write. Whoever can write into its directory, without the key,
// could otherwise move its end beyond all numbers, or have a chain of their own signed.
extension JournalRecovery {
    /// Throws if the segment does not have each line from its first one on: then it ends with lines of another journal.
    ///
    /// - Parameters:
    ///   - bytes: The segment up to its last line.
    ///   - next: The number after that line.
    func requireEveryLine(
        of bytes: ArraySlice<UInt8>, _ segment: JournalSegmentName, before next: UInt64
    ) throws(FileFailure) {
        let lines = bytes.count { $0 == UInt8(ascii: "\n") }
        guard next.subtractingSaturating(segment.first) == UInt64(lines) else {
            throw FileFailure(
                unfit: path(segment),
                "is damaged: it has \(lines) lines and ends with line \(next - 1); move it out of the directory to continue "
                    + "without it")
        }
    }

    /// Throws if lines are missing between the last checkpoint and the journal's end. Segments are compared from the last one
    /// back to one with a line that the key has signed or the ledger knows.
    ///
    /// - Parameter bytes: The content of the last segment.
    func requireConnection(of segments: [JournalSegmentName], endingWith bytes: [UInt8]) throws(FileFailure) {
        guard key != nil else { return }
        var (bytes, end) = (bytes, nil as UInt64?)
        for (before, segment) in zip(segments, segments.dropFirst()).reversed() {
            if isConfirmed(bytes, of: segment, before: end) { return }
            let previous = try self.bytes(of: before) ?? []
            let tail = SegmentTail(number: segment.first - 1, in: previous)
            let head = ChainCheck.endOfLine(in: bytes, from: 0).map { JournalLineReader(bytes: bytes[..<$0]) }
            guard let tail, head?.previous == tail.hash.hexDigits else {
                throw FileFailure(
                    unfit: path(segment),
                    "does not continue \(before.text), and no line after the gap is signed; move it out of the directory to "
                        + "continue without it")
            }
            (bytes, end) = (previous, segment.first)
        }
    }

    /// Returns whether the segment has a checkpoint that the key signed at its place, or the line of the ledger's checkpoint.
    private func isConfirmed(_ bytes: [UInt8], of segment: JournalSegmentName, before end: UInt64?) -> Bool {
        var order = LineOrder(from: segment.first, before: end)
        return order.lines(in: bytes).lazy.reversed().map(JournalLineReader.init(bytes:)).contains { line in
            guard let number = line.sequence else { return false }
            if let known, known.number == number { return line.verifiedHash == known.hash }
            return key.map { line.isCheckpoint(signedBy: [$0]) } ?? false
        }
    }
}
