internal import GatewaySupport
internal import Glibc

/// Appends batches to a file of mode 0600 and synchronizes it.
///
/// The file is opened for each batch, so that lines follow a rotation: a file that was renamed stays complete, and the
/// next batch creates a new one. Nothing is ever truncated or removed.
struct FileDestination: SinkDestination {
    let path: String
    let thread: SinkThread
    let maximumRecords = 10_000

    func deliver(_ batch: SinkBatch) async throws(SinkFailure) {
        try await thread.run { [path] () throws(SinkFailure) in
            do throws(FileFailure) { try Self.append(batch.lines, to: path) } catch { throw SinkFailure(error) }
        }
    }

    func close() async {}

    private static func append(_ lines: [UInt8], to path: String) throws(FileFailure) {
        let descriptor = try PrivateFiles.openRegular(path, O_RDWR | O_APPEND | O_CREAT)
        defer { Glibc.close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileFailure("fstat", path) }
        // A crash or a full disk may have left a part of a line. The line feed separates it from the same line, which
        // follows in full.
        if status.st_size > 0, try !endsWithLineFeed(descriptor, status.st_size, path) {
            try AtomicFile.writeAll([UInt8(ascii: "\n")], to: descriptor, path)
        }
        try AtomicFile.writeAll(lines[...], to: descriptor, path)
        guard fsync(descriptor) == 0 else { throw FileFailure("fsync", path) }
        guard fstat(descriptor, &status) == 0 else { throw FileFailure("fstat", path) }
        guard status.st_nlink > 0 else { throw FileFailure(unfit: path, "was deleted while it was written") }
        try PrivateFiles.synchronizeDirectory(PrivateFiles.parent(of: path))
    }

    private static func endsWithLineFeed(
        _ descriptor: CInt, _ size: off_t, _ path: String
    ) throws(FileFailure) -> Bool {
        var last: UInt8 = 0
        guard pread(descriptor, &last, 1, size - 1) == 1 else { throw FileFailure("read", path) }
        return last == UInt8(ascii: "\n")
    }
}
