package import GatewaySupport
internal import Glibc

/// A segment that is open for reading.
struct SegmentReader {
    private let path: String
    private let descriptor: CInt

    init(_ path: String) throws(FileFailure) {
        self.path = path
        descriptor = try PrivateFiles.openRegular(path, O_RDONLY)
    }

    /// Closes the file.
    func close() { _ = Glibc.close(descriptor) }

    /// Returns at most `count` bytes from the offset on.
    func read(from start: Int, count: Int) throws(FileFailure) -> [UInt8] {
        guard start >= 0 else { return [] }
        let wanted = min(max(0, count), max(0, try size() - start))
        var failure: FileFailure?
        let bytes = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, filled in
            while filled < wanted {
                let got = pread(
                    descriptor, buffer.baseAddress.map { $0 + filled }, wanted - filled, off_t(start + filled))
                if got < 0, errno == EINTR { continue }
                if got < 0 { failure = FileFailure("read", path) }
                guard got > 0 else { break }
                filled += got
            }
        }
        if let failure { throw failure }
        return bytes
    }

    /// Returns at most the last `count` bytes.
    func read(last count: Int) throws(FileFailure) -> [UInt8] {
        let size = try size()
        let length = min(size, count)
        return try read(from: size - length, count: length)
    }

    private func size() throws(FileFailure) -> Int {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileFailure("fstat", path) }
        return Int(status.st_size)
    }
}

extension JournalFile {
    /// Returns whether the directory has a segment. Blocks.
    package static func hasSegments(in directory: String) throws(FileFailure) -> Bool {
        do throws(FileFailure) {
            return !JournalSegmentName.segments(among: try SystemFileSystem().fileNames(in: directory)).isEmpty
        } catch {
            guard error.isMissing else { throw error }
            return false
        }
    }
}
