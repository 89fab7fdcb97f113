import Foundation

/// The resource usage of this process so far.
struct Usage {
    let microseconds: Int
    let switches: Int

    static var now: Usage {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        let seconds = usage.ru_utime.tv_sec + usage.ru_stime.tv_sec
        return Usage(
            microseconds: seconds * 1_000_000 + Int(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec),
            switches: usage.ru_nvcsw)
    }
}

/// The contents of a journal's segments.
struct Written {
    private(set) var lines = 0
    /// The number of writes; all lines of one write have the same time.
    private(set) var batches = 0

    init(directory: String) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
        where name.hasSuffix(".jsonl") {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)"))
            var last: Data.SubSequence = bytes[..<0]
            for line in bytes.split(separator: 0x0A) {
                lines += 1
                let start = line.firstIndex(of: UInt8(ascii: "T")) ?? line.startIndex
                let time = line[start..<min(start + 16, line.endIndex)]
                if time != last { batches += 1 }
                last = time
            }
        }
    }
}
