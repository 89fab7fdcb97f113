internal import GatewaySupport
internal import Glibc

/// A segment that is being written. Confined to one thread.
///
/// Line feeds are preallocated in the file, and lines overwrite them. A write then changes neither the file's length
/// nor its blocks, so that only the data itself must be synchronized. Line feeds are used because other readers see
/// only empty lines at the end.
struct JournalSegment {
    let name: JournalSegmentName
    let path: String
    private let descriptor: CInt
    private let identity: FileIdentity
    private let files: any JournalFileSystem
    /// The number of bytes of lines on disk.
    private(set) var length = 0
    /// The offset after the preallocated line feeds, which are on disk too.
    private(set) var filled = 0
    /// Whether the disk was full at the last preallocation.
    private var isShortOfSpace = false
    /// The number of bytes of the last append.
    private var lastBytes = 0

    /// The maximum size of a segment's file: a full segment, its last batch and preallocated space take much less. A longer
    /// file is never read whole, because somebody else has written it.
    static let maximumBytes: UInt64 = 128 << 20

    /// Creates the segment that starts with the line of this number, and makes its name durable.
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

    /// The identity of the file with the length of its lines.
    var written: FileIdentity {
        FileIdentity(device: identity.device, inode: identity.inode, size: UInt64(length))
    }

    /// The largest size that the writer can have given the file, with preallocated space and a write that failed.
    var maximumSize: UInt64 { UInt64(filled + JournalRecovery.maximumTornBytes) }

    /// The difference between the open file and the file at the segment's path. A segment that was renamed, deleted or
    /// truncated still accepts writes, but the lines are lost.
    var damage: SegmentDamage? {
        SegmentDamage(
            of: path, as: FileIdentity(device: identity.device, inode: identity.inode, size: UInt64(filled)),
            files: files)
    }

    /// Appends the bytes and returns once they are on disk. After a failure the segment must not be written again: the
    /// system may have dropped data that it could not write, and reports that only once.
    mutating func append(_ bytes: [UInt8]) throws(FileFailure) {
        let room = filled - length
        if room < bytes.count { try fill(SegmentPreallocation.steps.lowerBound, atLeast: bytes.count - room) }
        var written = 0
        while written < bytes.count { written += try write(bytes, from: written, at: length + written) }
        length += bytes.count
        lastBytes = bytes.count
    }

    /// Releases the preallocated space if somebody has written a line there, which readers would take for the next one.
    /// Returns whether there was one.
    mutating func removeForeignLines() throws(FileFailure) -> Bool {
        guard filled > length else { return false }
        let reader = try SegmentReader(path)
        defer { reader.close() }
        guard try reader.read(from: length, count: 1) != [UInt8(ascii: "\n")] else { return false }
        try files.truncate(descriptor, to: length, path)
        filled = length
        return true
    }

    /// Overwrites the first preallocated line feed with a line feed, which proves that the disk accepts writes and
    /// changes nothing.
    func testWrite() throws(FileFailure) {
        guard filled > length else { return }
        _ = try write([UInt8(ascii: "\n")], from: 0, at: length)
    }

    /// Returns whether space should be preallocated: little is left, and the segment is not full. Returns false if the
    /// disk was full at the last preallocation; the next line's write then reports that.
    func needsPreallocation(_ step: Int, upTo fullLength: Int) -> Bool {
        filled - length < max(step / 2, nextBytes) && filled < fullLength && !isShortOfSpace
    }

    /// Preallocates space for further lines. Called while no caller waits for a line.
    mutating func preallocate(_ step: Int) throws(FileFailure) { try fill(max(step, nextBytes), atLeast: 0) }

    /// The expected size of the next lines: twice the last append, at most the longest step.
    private var nextBytes: Int { min(2 * lastBytes, SegmentPreallocation.steps.upperBound) }

    /// Releases the unused preallocated space, and what somebody else has appended, and closes the file. Removes a file
    /// without acknowledged lines, so that its number can be used again.
    func close() {
        // If this fails, empty lines remain.
        if length > 0 { try? files.truncate(descriptor, to: length, path) }
        abandon()
    }

    /// Closes the file as it is, after a failure. Removes a file without acknowledged lines.
    func abandon() {
        if length > 0 { files.close(descriptor) } else { Self.discard(descriptor, path, files) }
    }

    /// Appends line feeds: `count` of them, or at least `least` if the disk is full.
    private mutating func fill(_ count: Int, atLeast least: Int) throws(FileFailure) {
        let feeds = [UInt8](repeating: UInt8(ascii: "\n"), count: max(count, least))
        isShortOfSpace = false
        var written = 0
        while written < feeds.count {
            do throws(FileFailure) {
                written += try write(feeds, from: written, at: filled + written)
            } catch  where (error.code == ENOSPC || error.code == EDQUOT) && written >= least {
                // The required room is on disk.
                isShortOfSpace = true
                break
            }
        }
        filled += written
    }

    private static func discard(_ descriptor: CInt, _ path: String, _ files: any JournalFileSystem) {
        files.close(descriptor)
        // If this fails, creating the next segment fails too, and that failure is reported.
        try? files.remove(path)
    }

    private static func create(_ path: String, _ files: any JournalFileSystem) throws(FileFailure) -> CInt {
        do throws(FileFailure) {
            return try files.create(path)
        } catch  where error.code == EEXIST {
            // No line with this number was ever acknowledged, so a failed attempt has left the file.
            try files.remove(path)
            return try files.create(path)
        }
    }

    /// Writes the bytes from `start` on. Returns the number written, at least one.
    private func write(_ bytes: [UInt8], from start: Int, at offset: Int) throws(FileFailure) -> Int {
        // `withUnsafeBytes` does not pass on typed errors.
        let result: Result<Int, FileFailure> = bytes.withUnsafeBytes { buffer in
            let rest = UnsafeRawBufferPointer(rebasing: buffer[start...])
            return Result { () throws(FileFailure) -> Int in try files.write(rest, at: offset, to: descriptor, path) }
        }
        let count = try result.get()
        guard count > 0 else { throw FileFailure(unfit: path, "accepts no more bytes") }
        return count
    }
}

/// The number of bytes preallocated in a segment at a time.
///
/// Records that arrive during a preallocation wait for it. A large step costs milliseconds of processor time; small
/// steps wait for a slow disk more often. The step therefore adapts: it doubles as long as preallocation takes at most
/// as long as two batch writes, and halves otherwise.
struct SegmentPreallocation: Sendable, Hashable {
    /// The range of the step in bytes.
    static let steps = (64 << 10)...(1 << 20)

    /// The next step in bytes. Starts small, so that a short journal stays small.
    private(set) var step = Self.steps.lowerBound
    private var batch: Int64 = 0

    /// Records the duration of the last batch's write.
    mutating func wroteBatch(in nanoseconds: Int64) { batch = nanoseconds }

    /// Records the duration of a preallocation, and doubles or halves the step.
    mutating func preallocated(in nanoseconds: Int64) {
        let (least, most) = (Self.steps.lowerBound, Self.steps.upperBound)
        step = nanoseconds / 2 > batch ? max(least, step / 2) : min(most, step * 2)
    }
}
