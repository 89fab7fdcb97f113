internal import Foundation

/// The executable code of the gateway and its libraries that is mapped into the process.
enum MappedExecutables {
    /// Releases the resident pages of the code. Called once, after the start.
    ///
    /// A start touches more than half of the code, for example to find protocol conformances, and the kernel maps
    /// neighbouring pages with each. Calls need a fraction of it. A page that is used again is mapped again from the
    /// page cache. Code pages are never written, so nothing is lost.
    static func release() {
        // The file has no known size, so it is read to its end.
        guard let maps = try? FileHandle(forReadingFrom: URL(filePath: "/proc/self/maps")).readToEnd() else { return }
        for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") {
            // The fields are range, permissions, offset, device, inode and path (proc(5)).
            let fields = line.split(separator: " ", maxSplits: 5)
            guard fields.count == 6, fields[1] == "r-xp", fields[5].contains("/") else { continue }
            let bounds = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
            guard bounds.count == 2, bounds[0] < bounds[1] else { continue }
            _ = madvise(UnsafeMutableRawPointer(bitPattern: bounds[0]), Int(bounds[1] - bounds[0]), MADV_DONTNEED)
        }
    }
}
