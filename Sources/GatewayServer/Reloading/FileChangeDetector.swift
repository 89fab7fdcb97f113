internal import SecretFiles

/// Which of some files have changed since they were last looked at: another file in the place, or another size or time.
struct FileChangeDetector {
    private var stamps: [(path: String, stamp: SecretFile.Stamp?)]

    init(_ paths: [String]) { stamps = paths.map { ($0, SecretFile.Stamp($0)) } }

    /// Looks, and answers whether any has changed since the last look. A file that is gone has changed once.
    mutating func look() -> Bool {
        var changed = false
        for index in stamps.indices {
            let now = SecretFile.Stamp(stamps[index].path)
            if now != stamps[index].stamp { changed = true }
            stamps[index].stamp = now
        }
        return changed
    }
}
