import Foundation

/// A sample of the processor times of the machine (proc(5), `stat`).
struct ProcessorLoad {
    private let idle: Double
    private let total: Double

    /// Reads the processor times since the machine started.
    init() {
        let text = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8)) ?? ""
        // cpu user nice system idle iowait irq softirq steal …
        let fields = text.prefix { $0 != "\n" }.split(separator: " ").dropFirst().prefix(8).compactMap { Double($0) }
        idle = fields.count > 4 ? fields[3] + fields[4] : 0
        total = fields.reduce(0, +)
    }

    /// Returns the idle fraction of the processor time since an earlier sample, from 0 to 1.
    func idlePart(since earlier: ProcessorLoad) -> Double {
        total > earlier.total ? (idle - earlier.idle) / (total - earlier.total) : 0
    }
}
