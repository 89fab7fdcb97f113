internal import GatewaySupport

/// Detects changes of files since the last check: another inode, size, modification time or status
/// change time.
struct FileChangeDetector {
    private var stamps: [(path: String, stamp: SecretFile.Stamp?)]

    init(_ paths: [String]) { stamps = paths.map { ($0, SecretFile.Stamp($0)) } }

    /// Returns whether any file has changed since the last call. The deletion of a file counts as a change once.
    mutating func checkForChanges() -> Bool {
        var changed = false
        for index in stamps.indices {
            let now = SecretFile.Stamp(stamps[index].path)
            if now != stamps[index].stamp { changed = true }
            stamps[index].stamp = now
        }
        return changed
    }
}
