internal import Foundation
package import GatewayStore
package import GatewaySupport

/// A backup in a directory: one file of mode 0600, whole or absent.
///
/// The file is written under a hidden name, synchronized, read again and verified, and then gets its name. The next backup
/// removes what a killed command has left.
package enum BackupFile {
    private static let (prefix, suffix, draftSuffix) = ("notify-gateway-", ".tar", ".part")

    /// Writes a backup into the directory and returns its path. Blocks.
    package static func write(
        _ backup: GatewayBackup, into directory: String, now: WallTime
    ) throws -> (path: String, manifest: BackupManifest) {
        removeLeftovers(in: directory)
        let name = prefix + stamp(now) + suffix
        let path = "\(directory)/\(name)"
        let draft = "\(directory)/.\(name)\(draftSuffix)"
        let file = open(draft, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { throw FileFailure("create", draft) }
        defer { close(file) }
        _ = flock(file, LOCK_EX | LOCK_NB)
        do {
            // The draft excludes others that would write this file.
            guard access(path, F_OK) != 0 else { throw FileFailure("create", path, code: EEXIST) }
            try backup.write(to: file, draft, now: now)
            guard fsync(file) == 0 else { throw FileFailure("fsync", draft) }
            guard lseek(file, 0, SEEK_SET) == 0 else { throw FileFailure("lseek", draft) }
            let manifest = try BackupReader.verify(file, draft)
            try PrivateFiles.rename(draft, to: path)
            return (path, manifest)
        } catch {
            unlink(draft)
            throw error
        }
    }

    /// Returns the path of the newest backup in the directory; nil if there is none. Blocks.
    package static func newest(in directory: String) throws -> String? {
        try FileManager.default.contentsOfDirectory(atPath: directory)
            .filter { $0.hasPrefix(prefix) && $0.hasSuffix(suffix) }.max().map { "\(directory)/\($0)" }
    }

    /// The time in the name of a file, in UTC with milliseconds: `20261128T120000.000Z`.
    static func stamp(_ time: WallTime) -> String {
        String(time.description.prefix(23).filter { $0 != "-" && $0 != ":" }) + "Z"
    }

    private static func removeLeftovers(in directory: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        for name in names where name.hasPrefix("." + prefix) && name.hasSuffix(suffix + draftSuffix) {
            let path = "\(directory)/\(name)"
            let file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
            guard file >= 0 else { continue }
            defer { close(file) }
            // A command that writes the file holds the lock.
            if flock(file, LOCK_EX | LOCK_NB) == 0 { unlink(path) }
        }
    }
}
