internal import Glibc

/// A file of the journal that is being written. Used on one thread.
///
/// The file is filled ahead with line feeds, some room at a time, and lines replace them: a write then changes neither the file's
/// length nor where it lies on the disk, so that nothing but its own bytes has to be synchronised. Line feeds, since readers
/// that know nothing of this find empty lines at the end and nothing else.
struct JournalSegment {
    let name: JournalSegmentName
    let path: String
    private let descriptor: CInt
    private let identity: FileIdentity
    private let files: any JournalFileSystem
    /// How many bytes of lines are in it and on disk.
    private(set) var length = 0
    /// Where the line feeds behind the lines end, on disk as well.
    private(set) var filled = 0
    /// Whether the disk was full when room was made last.
    private var lacksSpace = false
    /// How many bytes were appended last.
    private var lastBytes = 0

    /// Makes the segment that starts with the line of this number, and its name durable.
    init(first: UInt64, in directory: String, files: any JournalFileSystem) throws(FileFailure) {
        name = JournalSegmentName(first: first)
        path = directory + "/" + name.text
        self.files = files
        descriptor = try Self.create(path, files)
        do throws(FileFailure) {
            identity = try files.identity(of: descriptor, path)
            try files.synchronizeDirectory(directory)
        } catch {
            Self.discard(descriptor, path, files)
            throw error
        }
    }

    /// The file with as many bytes as its lines have.
    var written: FileIdentity {
        FileIdentity(device: identity.device, inode: identity.inode, size: UInt64(length))
    }

    /// Compares the open file with the one at the segment's path: a segment that lost its name or its bytes takes writes like any
    /// other, and nothing of them can be found again.
    var damage: SegmentDamage? {
        SegmentDamage(
            of: path, as: FileIdentity(device: identity.device, inode: identity.inode, size: UInt64(filled)),
            files: files)
    }

    /// Appends the bytes and returns once they are on disk. After a failure nothing may be written to the segment again: the
    /// system may have dropped what it could not write, and say so only once.
    mutating func append(_ bytes: [UInt8]) throws(FileFailure) {
        let room = filled - length
        if room < bytes.count { try fill(JournalFillPace.steps.lowerBound, atLeast: bytes.count - room) }
        var written = 0
        while written < bytes.count { written += try write(bytes, from: written, at: length + written) }
        length += bytes.count
        lastBytes = bytes.count
    }

    /// Writes a line feed behind the lines, where the segment is filled ahead with one already: the disk takes a write, and
    /// nothing of the segment changes.
    func proveDisk() throws(FileFailure) {
        guard filled > length else { return }
        _ = try write([UInt8(ascii: "\n")], from: 0, at: length)
    }

    /// Whether room should be made for lines to come: little is left, and the length at which the segment is full not reached.
    /// On a disk that is nearly full there may be none: that is for the next line to find out.
    func lacksRoom(_ step: Int, upTo fullLength: Int) -> Bool {
        filled - length < max(step / 2, nextBytes) && filled < fullLength && !lacksSpace
    }

    /// Makes room for lines to come; to be called when nobody waits for a line.
    mutating func fillAhead(_ step: Int) throws(FileFailure) { try fill(max(step, nextBytes), atLeast: 0) }

    /// What the next lines may need, going by the last ones: twice as much, within the longest step.
    private var nextBytes: Int { min(2 * lastBytes, JournalFillPace.steps.upperBound) }

    /// Gives back the room that was not used, and closes the file. One in which nothing was acknowledged is taken away, so that
    /// its number is free again.
    func end() {
        // Where it fails, empty lines stay behind.
        if length > 0, filled > length { try? files.cut(descriptor, to: length, path) }
        abandon()
    }

    /// Closes the file as it is, for after a failure. One in which nothing was acknowledged is taken away.
    func abandon() {
        if length > 0 { files.close(descriptor) } else { Self.discard(descriptor, path, files) }
    }

    /// Fills further ahead, and by less where the disk has no more.
    private mutating func fill(_ count: Int, atLeast least: Int) throws(FileFailure) {
        let feeds = [UInt8](repeating: UInt8(ascii: "\n"), count: max(count, least))
        lacksSpace = false
        var written = 0
        while written < feeds.count {
            do throws(FileFailure) {
                written += try write(feeds, from: written, at: filled + written)
            } catch  where (error.code == ENOSPC || error.code == EDQUOT) && written >= least {
                // The lines before are on disk: what could not be taken is empty.
                lacksSpace = true
                break
            }
        }
        filled += written
    }

    private static func discard(_ descriptor: CInt, _ path: String, _ files: any JournalFileSystem) {
        files.close(descriptor)
        // Where this fails the next segment cannot be made either, and that is reported.
        try? files.remove(path)
    }

    private static func create(_ path: String, _ files: any JournalFileSystem) throws(FileFailure) -> CInt {
        do throws(FileFailure) {
            return try files.create(path)
        } catch  where error.code == EEXIST {
            // No line of this number was ever acknowledged, so this is what an attempt left that could not even be undone.
            try files.remove(path)
            return try files.create(path)
        }
    }

    /// Writes from a place in the bytes on and says how many it wrote, at least one.
    private func write(_ bytes: [UInt8], from start: Int, at offset: Int) throws(FileFailure) -> Int {
        // `withUnsafeBytes` passes no typed error on.
        let result: Result<Int, FileFailure> = bytes.withUnsafeBytes { buffer in
            let rest = UnsafeRawBufferPointer(rebasing: buffer[start...])
            return Result { () throws(FileFailure) -> Int in try files.write(rest, at: offset, to: descriptor, path) }
        }
        let count = try result.get()
        guard count > 0 else { throw FileFailure(unfit: path, "takes no more bytes") }
        return count
    }
}
