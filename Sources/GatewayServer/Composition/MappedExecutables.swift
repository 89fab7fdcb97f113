internal import Foundation

/// The files of program code, the gateway's own and its libraries', as far as they are mapped into the process.
enum MappedExecutables {
    /// Lets go of their pages. Called once, when the gateway serves.
    ///
    /// A start touches more than half of the code, if only to look for conformances, and with each page the system maps its
    /// neighbours; calls need a fraction of it. What is touched again is mapped again, from the system's copy of the file: code is
    /// never written to, so nothing is lost.
    static func release() {
        // Read to its end: what is of no known length comes in parts.
        guard let maps = try? FileHandle(forReadingFrom: URL(filePath: "/proc/self/maps")).readToEnd() else { return }
        for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
            // Range, rights, offset, device, inode, path (proc(5)).
            let fields = line.split(separator: " ", maxSplits: 5)
            guard fields.count == 6, fields[1] == "r-xp", fields[5].contains("/") else { continue }
            let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard bounds.count == 2, bounds[0] < bounds[1] else { continue }
            _ = madvise(UnsafeMutableRawPointer(bitPattern: bounds[0]), Int(bounds[1] - bounds[0]), MADV_DONTNEED)
        }
    }
}
