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
            let bytes = try files.read(path(last))
            let end = try endOfLastLine(in: bytes, last)
            torn += bytes.count - end.offset
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
            var lines = BackwardLines(try files.read(path(segment)))
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

    /// The path of a segment.
    func path(_ segment: JournalSegmentName) -> String { directory + "/" + segment.text }

    /// Where the last line ends that is complete and carries its own hash, and where the chain goes on after it; offset 0 and
    /// no chain where there is none.
    private func endOfLastLine(
        in bytes: [UInt8], _ segment: JournalSegmentName
    ) throws(FileFailure) -> (offset: Int, chain: JournalChain?) {
        var lines = BackwardLines(bytes)
        while let line = lines.next() {
            let reader = JournalLineReader(bytes: line)
            if let hash = reader.verifiedHash, let number = reader.sequence, number < .max {
                return (line.endIndex + 1, JournalChain(next: number + 1, previous: hash))
            }
            if bytes.count - line.startIndex > Self.longestTornTail { break }
        }
        guard bytes.count <= Self.longestTornTail else {
            throw FileFailure(unfit: path(segment), "is damaged, and by more than a crash could have torn")
        }
        return (0, nil)
    }

    /// Cuts the segment, what is cut off kept aside first. A segment of which nothing is left goes altogether.
    private func cut(_ bytes: [UInt8], at offset: Int, of segment: JournalSegmentName) throws(FileFailure) {
        if offset < bytes.count {
            var aside = "\(directory)/torn-\(JournalSegmentName.digits(of: segment.first)).bin"
            var attempt = 1
            while try files.names(in: directory).contains(where: { aside.hasSuffix("/" + $0) }) {
                attempt += 1
                aside = "\(directory)/torn-\(JournalSegmentName.digits(of: segment.first))-\(attempt).bin"
            }
            try PrivateFiles.write(Array(bytes[offset...]), toNew: aside)
            if offset > 0 { try files.truncate(path(segment), to: offset) }
        }
        if offset == 0 {
            try files.remove(path(segment))
            try files.synchronizeDirectory(directory)
        }
    }
}

/// The lines of a segment that end with a line feed, the last one first, each without it.
struct BackwardLines {
    private let bytes: [UInt8]
    private var end: Int?

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        end = bytes.lastIndex(of: UInt8(ascii: "\n"))
    }

    mutating func next() -> ArraySlice<UInt8>? {
        guard let end else { return nil }
        let before = bytes[..<end].lastIndex(of: UInt8(ascii: "\n"))
        self.end = before
        return bytes[(before.map { $0 + 1 } ?? 0)..<end]
    }
}
