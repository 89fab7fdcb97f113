internal import Glibc

/// The write of a whole file: into a draft beside it, synchronized, and then moved to its path. All functions block.
package enum AtomicFile {
    /// The way in which a complete draft gets its path.
    package enum Publication {
        /// The draft replaces an existing file.
        case replacing
        /// An existing file is an error. `link` is used, because `rename` would replace the file.
        case new
    }

    /// Writes the file. A concurrent reader sees the old file or the new one, and so does the next start after a power
    /// failure. Does not synchronize the directory, so the change may still be undone by a power failure. A draft that
    /// an interrupted write has left is removed first.
    ///
    /// - Parameters:
    ///   - draft: The path of the draft, in the directory of the file. Only one caller at a time may use it.
    ///   - prepare: Changes owner and mode of the draft, which has mode 0600. Called before the synchronization.
    package static func write(
        _ bytes: [UInt8], to path: String, draft: String, _ publication: Publication,
        prepare: (CInt) throws(FileFailure) -> Void = { _ throws(FileFailure) in }
    ) throws(FileFailure) {
        unlink(draft)
        let descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw FileFailure("create", draft) }
        defer { close(descriptor) }
        do throws(FileFailure) {
            try writeAll(bytes[...], to: descriptor, draft)
            try prepare(descriptor)
            guard fsync(descriptor) == 0 else { throw FileFailure("fsync", draft) }
            switch publication {
            case .replacing: guard rename(draft, path) == 0 else { throw FileFailure("rename", draft) }
            case .new: guard link(draft, path) == 0 else { throw FileFailure("link", path) }
            }
        } catch {
            unlink(draft)
            throw error
        }
        if publication == .new { unlink(draft) }
    }

    /// Writes all bytes at the position of the descriptor.
    ///
    /// - Parameter path: The path of the file, for the message of a failure.
    package static func writeAll(_ bytes: ArraySlice<UInt8>, to descriptor: CInt, _ path: String) throws(FileFailure) {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw FileFailure("write", path) }
            rest = rest.dropFirst(count)
        }
    }
}
