#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Digests of the contents of files, by which a reload notices that one of them has changed.
public struct FileDigests: Sendable, Equatable {
    private enum Content: Equatable {
        case digest(SHA256.Digest)
        /// Nothing of that name, or a socket, a directory or a device.
        case noFile
    }

    /// In the order of the paths; nil if a file could not be read.
    private let contents: [Content]?

    /// The maximum length of a file in bytes: 16 MiB.
    private static let maximumLength = 16 << 20

    /// Reads the files. Blocks.
    public init(of paths: [String]) {
        var contents: [Content] = []
        for path in paths {
            guard let content = Self.content(of: path) else {
                self.contents = nil
                return
            }
            contents.append(content)
        }
        self.contents = contents
    }

    /// Returns whether all files have equal contents. Digests of a file that could not be read equal none.
    public static func == (left: FileDigests, right: FileDigests) -> Bool {
        left.contents != nil && left.contents == right.contents
    }

    /// Returns the content of a file; nil if it cannot be read.
    private static func content(of path: String) -> Content? {
        // Non-blocking, so that opening a FIFO does not wait for a writer.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        // A socket cannot be opened.
        guard descriptor >= 0 else { return errno == ENOENT || errno == ENXIO ? .noFile : nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        guard status.st_mode & S_IFMT == S_IFREG else { return .noFile }
        guard status.st_size <= maximumLength, let digest = SHA256.Accumulator() else { return nil }
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            if count < 0 { return nil }
            if count == 0 { return digest.finish().map(Content.digest) }
            guard chunk.withUnsafeBytes({ digest.add(UnsafeRawBufferPointer(rebasing: $0[..<count])) }) else {
                return nil
            }
        }
    }
}
