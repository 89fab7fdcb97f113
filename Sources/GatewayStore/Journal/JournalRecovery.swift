internal import GatewayCore
internal import GatewaySupport

/// Finds the end of the journal, repairs what a crash left incomplete, and returns the records to write about it.
///
/// Runs once, with the journal's lock held, before the journal is written.
struct JournalRecovery {
    /// The result of recovery.
    struct Recovered {
        /// The end of the chain.
        var chain = JournalChain.beginning
        /// The entries to write before any other.
        var entries: [JournalEntry] = []
        /// The lines at the end that the ledger's checkpoint covers and the journal lacks.
        var missing: ClosedRange<UInt64>?
        /// The difference between the journal and the ledger's checkpoint, as a sentence; nil without one.
        var loss: String?
    }

    let directory: String
    let files: any JournalFileSystem
    /// The indexes of closed segments; nil to read every segment.
    var indexed: (any IndexedSegments)?
    /// The key that signs the journal; nil for a journal without checkpoints.
    var key: Ed25519.PublicKey?
    /// The checkpoint in the ledger; nil if there is none.
    var known: StoredCheckpoint?

    /// The maximum length of an incomplete end. A crash loses at most one batch that was not synchronized; more is
    /// damage.
    static let maximumTornBytes = JournalWriter.batchBytes * 2

    /// Repairs the last segment and collects the intents without outcomes.
    ///
    /// Throws if the journal cannot be read, or has damage that a crash does not explain. Continuing would hide that
    /// damage.
    func run() throws(FileFailure) -> Recovered {
        var found = Recovered()
        var segments = JournalSegmentName.segments(among: try files.fileNames(in: directory))
        try rejectNewerFormat(segments)
        var torn = 0
        while let last = segments.last {
            guard let bytes = try bytes(of: last) else {
                segments.removeLast()
                continue
            }
            guard try files.size(path(last)) <= JournalSegment.maximumBytes else {
                throw FileFailure(
                    unfit: path(last),
                    "has more than \(JournalSegment.maximumBytes) bytes, which no segment of the journal has; move it out of the "
                        + "directory to continue without it")
            }
            let end = try endOfLastLine(in: bytes, last)
            if let chain = end.chain {
                try requireEveryLine(of: bytes[..<end.offset], last, before: chain.next)
                try requireConnection(of: segments, endingWith: bytes)
            }
            torn += max(0, JournalContent.endOffset(of: bytes) - end.offset)
            try truncate(bytes, at: end.offset, of: last)
            if let chain = end.chain {
                found.chain = chain
                break
            }
            segments.removeLast()
        }
        if torn > 0 { found.entries.append(.recovered(.tornTail, count: torn)) }
        found.entries += try OpenIntents(recovery: self, segments: segments, indexed: indexed).run()
        return found
    }

    /// Throws if a newer version wrote the journal. Runs before any repair, because a newer format may look incomplete
    /// to this version. Lines with the member `format` begin each run and end each full segment, so the last two
    /// segments suffice.
    private func rejectNewerFormat(_ segments: [JournalSegmentName]) throws(FileFailure) {
        for segment in segments.suffix(2).reversed() {
            guard let bytes = try bytes(of: segment) else { continue }
            var lines = BackwardLines(bytes)
            while let line = lines.next().map(JournalLineReader.init(bytes:)) {
                guard let format = line.number("format") else { continue }
                guard format <= JournalEntry.format else {
                    throw FileFailure(
                        unfit: path(segment),
                        "has format \(format); this version reads formats up to \(JournalEntry.format)")
                }
                return
            }
        }
    }

    /// Returns all bytes of a segment; nil if it was removed after it was listed.
    func bytes(of segment: JournalSegmentName) throws(FileFailure) -> [UInt8]? {
        do throws(FileFailure) {
            return try files.read(path(segment))
        } catch  where error.isMissing {
            return nil
        }
    }

    /// Returns the path of a segment.
    func path(_ segment: JournalSegmentName) -> String { directory + "/" + segment.text }

    /// Returns the offset after the last complete line that continues the chain, and the chain's end there; offset 0
    /// and nil if there is no such line.
    ///
    /// A crash affects only the last batch, but any part of it may be missing: a power failure keeps some of its pages
    /// and not others. All lines of a batch have the same time, so the chain is followed from the last line with
    /// another time.
    private func endOfLastLine(
        in bytes: [UInt8], _ segment: JournalSegmentName
    ) throws(FileFailure) -> (offset: Int, chain: JournalChain?) {
        let content = JournalContent.endOffset(of: bytes)
        var lines = BackwardLines(bytes)
        var time: String?
        var start: ArraySlice<UInt8>?
        var isBeforeTheBatch = false
        while !isBeforeTheBatch, let line = lines.next() {
            let reader = JournalLineReader(bytes: line)
            isBeforeTheBatch = content - line.startIndex > Self.maximumTornBytes
            guard reader.verifiedHash != nil else { continue }
            start = line
            time = time ?? reader.text("at")
            if reader.text("at") != time { isBeforeTheBatch = true }
        }
        if let start, let hash = JournalLineReader(bytes: start).verifiedHash,
            let number = JournalLineReader(bytes: start).sequence,
            isBeforeTheBatch || (start.startIndex == 0 && number == segment.first)
        {
            return follow(JournalChain(next: number + 1, hash: hash), in: bytes, from: start)
        }
        guard content <= Self.maximumTornBytes else {
            throw FileFailure(unfit: path(segment), "is damaged; the damage is larger than a crash can cause")
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
                let hash = reader.verifiedHash
            else { break }
            chain = JournalChain(next: chain.next + 1, hash: hash)
            offset = end + 1
        }
        return (offset, chain)
    }

    /// Truncates the segment at the offset after saving the removed bytes, without preallocated line feeds, to another
    /// file. Removes the segment if no bytes remain.
    private func truncate(_ bytes: [UInt8], at offset: Int, of segment: JournalSegmentName) throws(FileFailure) {
        let content = JournalContent.endOffset(of: bytes)
        if offset < content { try saveAside(bytes[offset..<content], of: segment) }
        if offset == 0 {
            try files.remove(path(segment))
            try files.synchronizeDirectory(directory)
        } else if offset < bytes.count {
            try files.truncateDurably(path(segment), to: offset)
        }
    }

    private func saveAside(_ bytes: ArraySlice<UInt8>, of segment: JournalSegmentName) throws(FileFailure) {
        var aside = "\(directory)/torn-\(JournalSegmentName.digits(of: segment.first)).bin"
        var attempt = 1
        while try files.fileNames(in: directory).contains(where: { aside.hasSuffix("/" + $0) }) {
            attempt += 1
            aside = "\(directory)/torn-\(JournalSegmentName.digits(of: segment.first))-\(attempt).bin"
        }
        try PrivateFiles.write(Array(bytes), toNew: aside)
    }
}

extension JournalRecovery {
    /// Compares the journal with the checkpoint stored in the ledger.
    ///
    /// If the journal ends before the line of the checkpoint, it was deleted, truncated, or replaced by an older copy.
    /// No number is used twice, so the next line then gets the number after the checkpoint's.
    func compare(_ found: inout Recovered, with known: StoredCheckpoint) throws(FileFailure) {
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
        let segments = JournalSegmentName.segments(among: try files.fileNames(in: directory))
        guard let segment = segments.last(where: { $0.first <= number }) else { return nil }
        return SegmentTail(number: number, in: try files.read(path(segment)))?.hash
    }
}
