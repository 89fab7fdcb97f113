internal import GatewaySupport
internal import Glibc
internal import OutboundHTTP

/// Appends batches to a file of mode 0600 and synchronizes it.
///
/// The file is opened for each batch, so that lines follow a rotation: a file that was renamed stays complete, and the
/// next batch creates a new one. Nothing is ever truncated or removed, and a file that does not begin like a record is not
/// touched.
struct FileDestination: SinkDestination {
    let path: String
    let thread: DeliveryThread
    let maximumRecords = 10_000

    func deliver(_ batch: SinkBatch) async throws(DeliveryFailure) {
        try await thread.run { [path] () throws(DeliveryFailure) in
            do throws(FileFailure) { try Self.append(batch.lines, to: path) } catch { throw DeliveryFailure(error) }
        }
    }

    func close() async {}

    private static func append(_ lines: [UInt8], to path: String) throws(FileFailure) {
        let descriptor = try PrivateFiles.openRegular(path, O_RDWR | O_APPEND | O_CREAT)
        defer { Glibc.close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileFailure("fstat", path) }
        guard SinkFile.beginsLikeRecord(descriptor) else { throw FileFailure(unfit: path, foreignContent) }
        // A crash or a full disk may have left a part of a line. The line feed separates it from the same line, which
        // follows in full.
        if status.st_size > 0, try byte(at: status.st_size - 1, of: descriptor, path) != UInt8(ascii: "\n") {
            try AtomicFile.writeAll([UInt8(ascii: "\n")], to: descriptor, path)
        }
        try AtomicFile.writeAll(lines[...], to: descriptor, path)
        guard fsync(descriptor) == 0 else { throw FileFailure("fsync", path) }
        guard fstat(descriptor, &status) == 0 else { throw FileFailure("fstat", path) }
        guard status.st_nlink > 0 else { throw FileFailure(unfit: path, "was deleted while it was written") }
        try PrivateFiles.synchronizeDirectory(PrivateFiles.parent(of: path))
    }

    private static func byte(at offset: off_t, of descriptor: CInt, _ path: String) throws(FileFailure) -> UInt8 {
        var byte: UInt8 = 0
        guard pread(descriptor, &byte, 1, offset) == 1 else { throw FileFailure("read", path) }
        return byte
    }

    /// The reason why a file that another program or the gateway uses for something else gets no lines.
    private static let foreignContent = "contains something other than records; use a path of its own"
}

/// The check of a sink's file without writing it.
public enum SinkFile {
    /// Returns whether the file contains something other than records. Lines appended to a key or a database would
    /// destroy it. False for a file that does not exist or cannot be read. Blocks.
    public static func isForeign(_ path: String) -> Bool {
        guard let descriptor = try? PrivateFiles.openRegular(path, O_RDONLY) else { return false }
        defer { close(descriptor) }
        return !beginsLikeRecord(descriptor)
    }

    /// Returns whether the file is empty or begins like a line of a journal.
    static func beginsLikeRecord(_ descriptor: CInt) -> Bool {
        let start = Array(#"{"seq":"#.utf8)
        var bytes = [UInt8](repeating: 0, count: start.count)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        // A crash may have left a part of the first line.
        return count >= 0 && bytes[..<count] == start[..<count]
    }
}
