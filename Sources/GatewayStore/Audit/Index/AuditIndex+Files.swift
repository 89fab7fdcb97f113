internal import GatewaySupport
internal import Glibc
internal import Synchronization

extension AuditIndex {
    /// Removes the damaged index of a segment, so that it is built again. Returns false if none was in use.
    func discard(_ first: UInt64) -> Bool {
        let wasUsed = state.withLock { state in
            // Both are removed: the file may have been written during the query.
            let (closed, partial) = (state.closed.removeValue(forKey: first), state.partial.removeValue(forKey: first))
            return closed != nil || partial != nil
        }
        followed.withLock { if $0?.first == first { $0 = nil } }
        forgetFinished(first)
        unlink(path(first))
        return wasUsed
    }

    /// Removes the indexes of all segments.
    func discardAll() throws(FileFailure) {
        close()
        for name in try SystemFileSystem().fileNames(in: files.directory) where Self.first(inFileName: name) != nil {
            try PrivateFiles.remove("\(files.directory)/\(name)")
        }
    }

    /// Releases the memory of the indexes. A later use reads their files again.
    public func close() {
        state.withLock { $0 = State() }
        followed.withLock { $0 = nil }
        finished.withLock { $0 = nil }
    }

    private func path(_ first: UInt64) -> String { "\(files.directory)/\(Self.fileName(first: first))" }

    /// Returns the index of a closed segment; nil if it has none, or one of another size or another segment.
    @discardableResult
    func open(_ segment: SegmentFiles.ListedSegment, before end: UInt64) throws -> SegmentIndex? {
        let first = segment.name.first
        if let known = state.withLock({ $0.closed[first] }), known.covers(segment, before: end) { return known }
        guard let index = try? SegmentIndex(path(first), first: first, seal: seal), index.covers(segment, before: end),
            try index.isOf(segment, files)
        else { return nil }
        state.withLock { state in
            state.closed[first] = index
            state.failed[first] = nil
            state.partial[first] = nil
        }
        forgetFinished(first)
        return index
    }

    /// Writes the index of a closed segment and opens it.
    func store(
        _ encoded: SegmentIndex.Encoded, of segment: SegmentFiles.ListedSegment, before end: UInt64
    ) throws {
        guard let bytes = seal.map({ encoded.sealed($0) }) ?? encoded.bytes else {
            throw Failure("libcrypto cannot seal an index")
        }
        if minimumFree > 0 {
            let free = try SystemFileSystem().freeBytes(at: files.directory)
            // The rest of the space is for the journal.
            let size = UInt64(bytes.count)
            guard free >= size, (free - size) / 2 >= minimumFree else {
                throw Failure("too little disk space is left for the index")
            }
        }
        let path = path(segment.name.first)
        // Several processes, and two threads of this one, may build the same index.
        let draft = "\(path).\(String(UInt64.random(in: .min ... .max), radix: 16))"
        try AtomicFile.write(bytes, to: path, draft: draft, .replacing) {
            descriptor throws(FileFailure) in
            Self.assignToDirectoryOwner(descriptor, files.directory)
        }
        try open(segment, before: end)
    }

    /// Removes the files of segments that no longer exist, drafts that a killed process left, and the database that
    /// former versions used.
    func removeStale(_ segments: [SegmentFiles.ListedSegment]) throws {
        let present = Set(segments.map(\.name.first))
        var found: Set<UInt64> = []
        for name in try SystemFileSystem().fileNames(in: files.directory) where name.hasPrefix("index") {
            let path = "\(files.directory)/\(name)"
            if let first = Self.first(inFileName: name) {
                if present.contains(first) { found.insert(first) } else { unlink(path) }
            } else if Self.formerNames.contains(name) || isAbandonedDraft(name) {
                unlink(path)
            }
        }
        // Another process may have removed a file because it found it damaged.
        state.withLock { state in state.closed = state.closed.filter { found.contains($0.key) } }
    }

    private static let formerNames: Set = [
        "index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "index.sqlite-journal", "index.clean", "index.lock",
        "index.damaged",
    ]

    /// Returns the number in the name of an index file; nil for other names.
    static func first(inFileName name: String) -> UInt64? {
        JournalSegmentName.number(in: name, "index-", ".bin")
    }

    /// Returns whether the file is a draft that a killed process left an hour ago or earlier.
    private func isAbandonedDraft(_ name: String) -> Bool {
        let parts = name.split(separator: ".")
        var status = stat()
        guard parts.count == 3, Self.first(inFileName: "\(parts[0]).\(parts[1])") != nil,
            lstat("\(files.directory)/\(name)", &status) == 0
        else { return false }
        return status.st_mtim.tv_sec < time(nil) - 3600
    }

    /// Gives a file that root created to the owner of the directory. The gateway runs as that user and must be able to
    /// read and replace the file.
    private static func assignToDirectoryOwner(_ descriptor: CInt, _ directory: String) {
        var status = stat()
        guard geteuid() == 0, stat(directory, &status) == 0 else { return }
        _ = fchown(descriptor, status.st_uid, status.st_gid)
    }
}

extension SegmentIndex {
    /// Returns whether the index is of a segment with this name, size and end.
    func covers(_ segment: SegmentFiles.ListedSegment, before end: UInt64) -> Bool {
        header.first == segment.name.first && header.end == end && header.bytes == segment.size
    }

    /// Returns whether the segment has the last line that the index was built from. Its hash covers the lines before it,
    /// so this tells the segment from one of another journal, such as a restored one.
    func isOf(_ segment: SegmentFiles.ListedSegment, _ files: SegmentFiles) throws -> Bool {
        let (offset, tail) = header.lastLine
        guard !tail.isEmpty else { return true }
        let bytes = try files.ifPresent { () throws(FileFailure) in
            try files.read(segment.name, from: Int(clamping: offset), count: Self.maximumLineBytes)
        }
        guard let bytes, let feed = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return false }
        return bytes[..<feed].suffix(SegmentIndexBuilder.tailBytes).elementsEqual(tail)
    }
}
