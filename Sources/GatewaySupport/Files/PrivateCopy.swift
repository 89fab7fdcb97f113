internal import Foundation

/// A private directory for copies of files that a command only reads.
///
/// SQLite creates files beside a database that it opens. Beside the original, such files could belong to the wrong
/// user. The directory has mode 0700 and lies in the directory for temporary files. `remove()` deletes it; the next
/// command deletes one that a killed command has left.
package struct PrivateCopy: Sendable {
    private let directory: String
    /// The descriptor of the directory, which holds a lock on it.
    private let lock: CInt

    private static let prefix = "notify-gateway-read-"

    /// Creates an empty directory, and removes those that killed commands have left.
    package init() throws(FileFailure) {
        let temporary = FileManager.default.temporaryDirectory.path(percentEncoded: false)
        let parent = temporary.hasSuffix("/") ? temporary : temporary + "/"
        Self.removeLeftovers(in: parent)
        directory = "\(parent)\(Self.prefix)\(UUID().uuidString)"
        guard mkdir(directory, 0o700) == 0 else { throw FileFailure("mkdir", directory) }
        lock = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        _ = flock(lock, LOCK_EX | LOCK_NB)
    }

    /// Returns the path of a file in the directory.
    package func path(_ name: String) -> String { "\(directory)/\(name)" }

    /// Removes the directory with its content.
    package func remove() {
        try? FileManager.default.removeItem(atPath: directory)
        if lock >= 0 { close(lock) }
    }

    /// Copies a file into the directory. Blocks.
    package func add(_ source: String, as name: String) throws(FileFailure) {
        let target = path(name)
        let input = try PrivateFiles.openRegular(source, O_RDONLY)
        defer { close(input) }
        let output = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard output >= 0 else { throw FileFailure("create", target) }
        defer { close(output) }
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(input, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw FileFailure("read", source) }
            if count == 0 { return }
            try AtomicFile.writeAll(chunk[..<count], to: output, target)
        }
    }

    /// Removes this user's directories that no process has locked.
    private static func removeLeftovers(in parent: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
        for name in names where name.hasPrefix(prefix) {
            let path = parent + name
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            var status = stat()
            // The process that created a directory less than a minute ago may not have locked it yet.
            guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(),
                status.st_mtim.tv_sec + 60 < time(nil), flock(descriptor, LOCK_EX | LOCK_NB) == 0
            else { continue }
            try? FileManager.default.removeItem(atPath: path)
        }
    }
}
