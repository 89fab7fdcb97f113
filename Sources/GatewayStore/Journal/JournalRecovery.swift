internal import GatewayCore

/// Finds where the journal ended, mends what a crash left torn, and says what has to be recorded about it.
///
/// Runs once, before the journal is written, with its lock held.
struct JournalRecovery {
    /// What was found.
    struct Found {
        /// Where the journal goes on.
        var chain = JournalChain.beginning
        /// What has to be written before anything else.
        var entries: [JournalEntry] = []
        /// The lines at the end that the ledger knows of and the journal has not.
        var missing: ClosedRange<UInt64>?
        /// How the journal differs from what the ledger knows, as a sentence; nil where it does not.
        var loss: String?
    }

    let directory: String
    let files: any JournalFileSystem

    /// A crash tears what was not synchronised, which is a batch at most. More than this is no torn tail but damage.
    static let longestTornTail = JournalWriter.batchBytes * 2

    /// Mends the last segment and reads back to the last start.
    ///
    /// Throws where the journal cannot be read, or is damaged in a way that no crash explains: going on would hide it.
    func run() throws(FileFailure) -> Found {
        var found = Found()
        var segments = try files.names(in: directory).compactMap { JournalSegmentName($0) }.sorted()
        try refuseNewerFormat(segments)
        var torn = 0
        while let last = segments.last {
            guard let bytes = try bytes(of: last) else {
                segments.removeLast()
                continue
            }
            let end = try endOfLastLine(in: bytes, last)
            torn += max(0, JournalContent.end(of: bytes) - end.offset)
            try cut(bytes, at: end.offset, of: last)
            if let chain = end.chain {
                found.chain = chain
                break
            }
            segments.removeLast()
        }
        if torn > 0 { found.entries.append(.recovered(.tornTail, count: torn)) }
        found.entries += try OpenIntents(recovery: self, segments: segments).run()
        return found
    }

    /// Looked at before anything is mended: what a newer program wrote may look torn to this one. Lines that name the format
    /// begin each run and end each full segment.
    private func refuseNewerFormat(_ segments: [JournalSegmentName]) throws(FileFailure) {
        for segment in segments.suffix(2).reversed() {
            guard let bytes = try bytes(of: segment) else { continue }
            var lines = BackwardLines(bytes)
            while let line = lines.next().map(JournalLineReader.init(bytes:)) {
                guard let format = line.number("format") else { continue }
                guard format <= JournalEntry.format else {
                    throw FileFailure(
                        unfit: path(segment),
                        "is of format \(format), and this program reads none newer than \(JournalEntry.format)")
                }
                return
            }
        }
    }

    /// All bytes of a segment; nil where it was removed since it was listed.
    func bytes(of segment: JournalSegmentName) throws(FileFailure) -> [UInt8]? {
        do throws(FileFailure) {
            return try files.read(path(segment))
        } catch  where error.isMissing {
            return nil
        }
    }

    /// The path of a segment.
    func path(_ segment: JournalSegmentName) -> String { directory + "/" + segment.text }

    /// Where the last line ends that is complete and follows from those before it, and where the chain goes on after it; offset 0
    /// and no chain where there is none.
    ///
    /// A crash tears the last batch and nothing else, but within it anything may be missing: a loss of power keeps some of its
    /// pages and not others. All lines of a batch are of one time, so the chain is followed from the last line of another.
    private func endOfLastLine(
        in bytes: [UInt8], _ segment: JournalSegmentName
    ) throws(FileFailure) -> (offset: Int, chain: JournalChain?) {
        let content = JournalContent.end(of: bytes)
        var lines = BackwardLines(bytes)
        var time: String?
        var start: ArraySlice<UInt8>?
        var isBeforeTheBatch = false
        while !isBeforeTheBatch, let line = lines.next() {
            let reader = JournalLineReader(bytes: line)
            isBeforeTheBatch = content - line.startIndex > Self.longestTornTail
            guard reader.verifiedHash != nil else { continue }
            start = line
            time = time ?? reader.text("at")
            if reader.text("at") != time { isBeforeTheBatch = true }
        }
        if let start, let hash = JournalLineReader(bytes: start).verifiedHash,
            let number = JournalLineReader(bytes: start).sequence, number < .max,
            isBeforeTheBatch || (start.startIndex == 0 && number == segment.first)
        {
            return follow(JournalChain(next: number + 1, hash: hash), in: bytes, from: start)
        }
        guard content <= Self.longestTornTail else {
            throw FileFailure(unfit: path(segment), "is damaged, and by more than a crash could have torn")
        }
        return (0, nil)
    }

    private func follow(
        _ chain: JournalChain, in bytes: [UInt8], from start: ArraySlice<UInt8>
    ) -> (offset: Int, chain: JournalChain?) {
        var chain = chain
        var offset = start.endIndex + 1
        while let end = ChainCheck.endOfLine(in: bytes, from: offset) {
            let reader = JournalLineReader(bytes: bytes[offset..<end])
            guard reader.sequence == chain.next, reader.previous == chain.previous,
                let hash = reader.verifiedHash,
                chain.next < .max
            else { break }
            chain = JournalChain(next: chain.next + 1, hash: hash)
            offset = end + 1
        }
        return (offset, chain)
    }

    /// Cuts the segment, what is cut off kept aside first but for the line feeds that it was filled with. A segment of which
    /// nothing is left goes altogether.
    private func cut(_ bytes: [UInt8], at offset: Int, of segment: JournalSegmentName) throws(FileFailure) {
        let content = JournalContent.end(of: bytes)
        if offset < content { try keepAside(bytes[offset..<content], of: segment) }
        if offset == 0 {
            try files.remove(path(segment))
            try files.synchronizeDirectory(directory)
        } else if offset < bytes.count {
            try files.truncate(path(segment), to: offset)
        }
    }

    private func keepAside(_ bytes: ArraySlice<UInt8>, of segment: JournalSegmentName) throws(FileFailure) {
        var aside = "\(directory)/torn-\(JournalSegmentName.digits(of: segment.first)).bin"
        var attempt = 1
        while try files.names(in: directory).contains(where: { aside.hasSuffix("/" + $0) }) {
            attempt += 1
            aside = "\(directory)/torn-\(JournalSegmentName.digits(of: segment.first))-\(attempt).bin"
        }
        try PrivateFiles.write(Array(bytes), toNew: aside)
    }
}
