internal import GatewaySupport

/// The result of comparing the indexes with the journal.
public enum IndexComparison: Sendable, Hashable {
    /// No segment has an index to compare. The next query builds them.
    case absent
    /// Every index that exists matches its segment. The indexes describe this number of lines.
    case agrees(lines: UInt64)
    /// An index is damaged or differs from its segment; the text names it.
    case differs(String)
    /// An index or a segment could not be read.
    case unreadable(String)
}

extension AuditTrail {
    /// Builds the index of each segment that has one again, in memory, and compares both byte by byte. Segments without
    /// an index, or with one for another size of the segment, are not compared: the next query builds theirs. Does not write to the journal's directory. Reads the whole journal and blocks for
    /// that time; intended for commands.
    public static func compareIndex(
        directory: String, progress: (UInt64, UInt64) -> Void = { _, _ in }
    ) -> IndexComparison {
        let files = SegmentFiles(directory: directory)
        do throws(FileFailure) {
            let segments = try files.list()
            let names = Set(try SystemFileSystem().fileNames(in: directory))
            let total = segments.reduce(0) { $0 + $1.size }
            var (done, lines, isAbsent) = (UInt64(0), UInt64(0), true)
            for (segment, next) in zip(segments, segments.dropFirst()) {
                progress(done, total)
                done += segment.size
                let name = AuditIndex.fileName(first: segment.name.first)
                guard names.contains(name) else { continue }
                // An index of a segment that has another size now, as after a power failure, is never used; nor is one of
                // a former format.
                if try isStale("\(directory)/\(name)", segment, before: next.name.first) { continue }
                isAbsent = false
                switch try rebuilt(segment, before: next.name.first, files) {
                case nil: continue
                case .failure(let failure)?: return .differs(failure.description)
                case .success(let built)?:
                    let found = try read("\(directory)/\(name)", atMost: built.bytes.count + IndexSeal.byteCount + 1)
                    // A seal cannot be compared without the key; an index with a wrong one is not used.
                    guard found.starts(with: built.bytes), found.count <= built.bytes.count + IndexSeal.byteCount
                    else { return .differs("\(name) does not match its segment") }
                    lines += UInt64(built.header.count(of: .rows))
                }
            }
            progress(total, total)
            return isAbsent ? .absent : .agrees(lines: lines)
        } catch {
            return .unreadable(error.description)
        }
    }

    /// Removes the indexes. The process that uses them builds them again at its next update; if no process uses them,
    /// the next query does.
    ///
    /// - Returns: The error if an index could not be removed; nil on success.
    public func discardIndex() -> AuditIndex.Failure? {
        do throws(FileFailure) {
            try index.discardAll()
            return nil
        } catch {
            return AuditIndex.Failure(error)
        }
    }

    /// Returns the index that the segment must have; nil if the segment was removed meanwhile.
    private static func rebuilt(
        _ segment: SegmentFiles.ListedSegment, before end: UInt64, _ files: SegmentFiles
    ) throws(FileFailure) -> Result<SegmentIndex.Encoded, AuditIndex.Failure>? {
        var builder = SegmentIndexBuilder(first: segment.name.first)
        while segment.size > UInt64(builder.bytes) {
            let start = builder.bytes
            let block = try files.ifPresent { () throws(FileFailure) in
                try files.block(of: segment, from: start, isGrowing: false)
            }
            guard let block else { break }
            do throws(AuditIndex.Failure) { try builder.add(block, before: end) } catch { return .failure(error) }
        }
        guard builder.bytes > 0 else { return nil }
        return .success(builder.encoded(before: end, size: segment.size))
    }

    /// Returns whether the file has a valid header that states another size or end of the segment, or a former format.
    private static func isStale(
        _ path: String, _ segment: SegmentFiles.ListedSegment, before end: UInt64
    ) throws(FileFailure) -> Bool {
        let bytes = try read(path, atMost: SegmentIndex.headerBytes)
        guard let header = SegmentIndex.Header(bytes) else { return SegmentIndex.Header.isOfFormerFormat(bytes) }
        return header.first == segment.name.first && (header.bytes != segment.size || header.end != end)
    }

    private static func read(_ path: String, atMost limit: Int) throws(FileFailure) -> [UInt8] {
        let reader = try SegmentReader(path)
        defer { reader.close() }
        return try reader.read(from: 0, count: limit)
    }
}
