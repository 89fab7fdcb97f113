internal import CStatx
package import GatewaySupport
internal import Glibc

/// The open segments of a journal for a backup: all, or those that a start needs. A gateway may write the journal meanwhile.
package struct JournalEnd {
    /// A segment.
    package struct Segment {
        package let name: JournalSegmentName
        package let descriptor: CInt
        package let path: String
        /// The bytes up to the last complete line.
        package let size: Int
        package let modified: WallTime
    }

    /// The segments, oldest first.
    package private(set) var segments: [Segment] = []
    /// Whether these are all segments of the journal.
    package private(set) var isWhole = true

    /// Opens the segments. Called after the ledger was copied, so that the journal is not older than the ledger. Blocks.
    ///
    /// - Parameter since: The time from which on records are needed; nil for all segments. The last two segments are needed in
    ///   any case.
    package init(of directory: String, since: WallTime?) throws {
        let files = SystemFileSystem()
        let names = JournalSegmentName.segments(among: try files.fileNames(in: directory))
        do {
            for (index, name) in names.enumerated() {
                let path = directory + "/" + name.text
                do throws(FileFailure) {
                    if let since, index + 2 < names.count, segments.isEmpty,
                        try files.modificationTime(of: path) < since
                    {
                        isWhole = false
                        continue
                    }
                    try open(name, path, isLast: index + 1 == names.count)
                } catch  where error.isMissing && segments.isEmpty {
                    // Retention removes the oldest segments of a running gateway.
                    continue
                }
            }
        } catch {
            close()
            throw error
        }
    }

    private mutating func open(_ name: JournalSegmentName, _ path: String, isLast: Bool) throws(FileFailure) {
        let descriptor = try PrivateFiles.openRegular(path, O_RDONLY)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            Glibc.close(descriptor)
            throw FileFailure("stat", path)
        }
        // Anybody may set any time.
        let modified = WallTime(seconds: Int64(status.st_mtim.tv_sec)).adding(Int64(status.st_mtim.tv_nsec) / 1000)
        do throws(FileFailure) {
            let size =
                isLast ? try Self.endOfLines(descriptor, path, size: Int(status.st_size)) : Int(status.st_size)
            guard size > 0 else {
                Glibc.close(descriptor)
                return
            }
            segments.append(
                Segment(name: name, descriptor: descriptor, path: path, size: size, modified: modified))
        } catch {
            Glibc.close(descriptor)
            throw error
        }
    }

    /// Closes the segments.
    package mutating func close() {
        for segment in segments { Glibc.close(segment.descriptor) }
        segments = []
    }

    /// Returns the index after the last complete line, before the preallocated line feeds.
    private static func endOfLines(_ descriptor: CInt, _ path: String, size: Int) throws(FileFailure) -> Int {
        let feed = UInt8(ascii: "\n")
        var (end, content) = (size, -1)
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while end > 0 {
            let start = max(0, end - chunk.count)
            var filled = 0
            while filled < end - start {
                let count = chunk.withUnsafeMutableBytes { bytes in
                    pread(
                        descriptor, bytes.baseAddress.map { $0 + filled }, end - start - filled, off_t(start + filled))
                }
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw FileFailure("read", path) }
                filled += count
            }
            for index in stride(from: filled - 1, through: 0, by: -1) {
                if content < 0 {
                    guard chunk[index] != feed else { continue }
                    content = start + index + 1
                    // The line is complete if a line feed follows it.
                    if content < size { return content + 1 }
                } else if chunk[index] == feed {
                    return start + index + 1
                }
            }
            end = start
        }
        return 0
    }
}
