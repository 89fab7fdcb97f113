internal import Foundation
internal import GatewaySupport

/// The metrics of the process, under the standard names of Prometheus client libraries.
enum ProcessMetrics {
    static func families() -> [MetricFamily] {
        var families: [MetricFamily] = []
        // The fields of /proc/self/stat (proc(5)) are counted after the program name, whose end is the last `)`.
        let stat = (try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8)) ?? ""
        let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        if fields.count > 21, ticks > 0, let user = Double(fields[11]), let system = Double(fields[12]),
            let pages = Double(fields[21])
        {
            families.append(
                MetricFamily(
                    "process_cpu_seconds_total", .counter, "CPU time that the process has used, in seconds.",
                    (user + system) / ticks))
            families.append(
                MetricFamily(
                    "process_resident_memory_bytes", .gauge, "Resident memory of the process, in bytes.",
                    pages * Double(sysconf(Int32(_SC_PAGESIZE)))))
        }
        if let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
            // Reading the directory opens one descriptor itself.
            families.append(
                MetricFamily("process_open_fds", .gauge, "Open file descriptors.", Double(max(0, open - 1))))
        }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            families.append(
                MetricFamily("process_max_fds", .gauge, "Maximum open file descriptors.", Double(limit.rlim_cur)))
        }
        return families
    }
}
