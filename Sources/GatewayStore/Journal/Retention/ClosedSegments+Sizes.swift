internal import GatewayCore
internal import GatewaySupport

// Retention by size removes segments because of the sizes of others. Whoever can write into the directory, without the key,
// could have the gateway remove and sign away everything with one file of any length, which takes no space. So only what the
// writer wrote counts, and any other file stops the removal.
extension ClosedSegments {
    /// The number of bytes at a segment's beginning that are searched for its first line.
    private static let headBytes = 64 << 10
    /// The total size of segments that are measured at once. Larger ones are measured on a thread of their own.
    private static let measuredAtOnce: UInt64 = 4 << 20

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

    /// Confirms the sizes of segments from before the start: what counts is the unbroken chain from the first line to the
    /// last signed checkpoint. Each is read once, completely. Those that take long are confirmed by a later call.
    ///
    /// - Parameters:
    ///   - open: The segment that is being written.
    ///   - keys: The keys that may have signed.
    /// - Returns: The first segment that the gateway did not write, with the reason; nil without one.
    mutating func confirmSizes(
        before open: JournalSegmentName, signedBy keys: [Ed25519.PublicKey]
    ) throws(FileFailure) -> String? {
        let names = names
        let next = Dictionary(uniqueKeysWithValues: zip(names, names.dropFirst() + [open]))
        let unconfirmed = names.filter { !isConfirmed($0) }
        if let name = unconfirmed.first(where: { size(of: $0) > JournalSegment.maximumBytes }) {
            return "\(name.text) has \(size(of: name)) bytes, more than any segment that is written"
        }
        let (files, directory) = (files, directory)
        let measure = { @Sendable (name: JournalSegmentName) throws(FileFailure) -> SegmentMeasurements.Result in
            guard let next = next[name] else { return .written(0) }
            return try Self.measure(name, before: next, in: directory, signedBy: keys, files)
        }
        var results = measurements.takeResults()
        let left = unconfirmed.filter { results[$0] == nil }
        if left.map({ size(of: $0) }).saturatingSum <= Self.measuredAtOnce {
            for name in left { results[name] = try measure(name) }
        } else {
            measurements.start(left, measure: measure)
        }
        var problem: String?
        for name in unconfirmed {
            switch results[name] {
            case .written(let bytes): confirm(name, atMost: bytes)
            case .foreign(let what): problem = problem ?? what
            case nil: break
            }
        }
        return problem
    }

    /// Reads a segment and returns how much of it the gateway is known to have written. The lines after the last checkpoint,
    /// which a crash left, do not count.
    private static func measure(
        _ name: JournalSegmentName, before next: JournalSegmentName, in directory: String,
        signedBy keys: [Ed25519.PublicKey], _ files: any JournalFileSystem
    ) throws(FileFailure) -> SegmentMeasurements.Result {
        let head = try files.read("\(directory)/\(next.text)", first: headBytes)
        let first = ChainCheck.endOfLine(in: head, from: 0).map { JournalLineReader(bytes: head[..<$0]) }
        let bytes = try files.read("\(directory)/\(name.text)", first: Int(JournalSegment.maximumBytes))
        let chain = SegmentChain(of: bytes, from: name.first, through: next.first - 1, signedBy: keys)
        if chain.last == next.first - 1, chain.hash == first?.previous {
            // Preallocated line feeds follow, or the lines of a failed write.
            guard bytes[chain.end...].allSatisfy({ $0 == UInt8(ascii: "\n") }) || first?.kind == .recovered else {
                return .foreign("\(name.text) has grown behind line \(next.first - 1), with which it ended")
            }
        } else if chain.signedEnd == 0 {
            // Otherwise the files after it may have been deleted.
            return .foreign("\(next.text) does not continue \(name.text), which has no signed checkpoint")
        }
        return .written(UInt64(chain.signedEnd))
    }
}
