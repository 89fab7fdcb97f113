internal import GatewayCore
internal import GatewaySupport

extension JournalRecovery {
    /// Compares the journal with the checkpoint stored in the ledger.
    ///
    /// If the journal ends before the line of the checkpoint, it was deleted, truncated, or replaced by an older copy.
    /// Its next line then follows the checkpoint's number, because no number is used twice.
    func compare(_ found: inout Found, with known: KnownCheckpoint) throws(FileFailure) {
        guard known.number < .max else { return }
        if known.number >= found.chain.next {
            let missing = found.chain.next...known.number
            found.missing = missing
            found.chain = JournalChain(next: known.number + 1, hash: known.hash)
            found.loss =
                "lines \(missing.lowerBound) to \(missing.upperBound) are missing; the ledger has a checkpoint of "
                + "\(known.time) in line \(known.number)"
        } else if try hash(ofLine: known.number) != known.hash {
            found.entries.append(.checkpointMismatch(known.number))
            found.loss =
                "line \(known.number) is missing or does not match the ledger's checkpoint of \(known.time)"
        }
    }

    /// Returns the hash of the line with the number; nil if the line is missing.
    private func hash(ofLine number: UInt64) throws(FileFailure) -> SHA256.Digest? {
        let segments = try files.names(in: directory).compactMap { JournalSegmentName($0) }.sorted()
        guard let segment = segments.last(where: { $0.first <= number }) else { return nil }
        return SegmentTail(number: number, in: try files.read(path(segment)))?.hash
    }
}
