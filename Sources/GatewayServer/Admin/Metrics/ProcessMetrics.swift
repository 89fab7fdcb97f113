internal import Foundation
internal import GatewayCore

/// What the system says of the process, under the names that all exporters give it.
enum ProcessMetrics {
    static func families() -> [MetricFamily] {
        var families: [MetricFamily] = []
        // Fields of proc(5)'s stat, counted behind the name, which may hold anything but a `)` at its end.
        let stat = (try? String(contentsOfFile: "/proc/self/stat", encoding: .utf8)) ?? ""
        let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
        let ticks = Double(sysconf(Int32(_SC_CLK_TCK)))
        if fields.count > 21, ticks > 0, let user = Double(fields[11]), let system = Double(fields[12]),
            let pages = Double(fields[21])
        {
            families.append(
                MetricFamily(
                    "process_cpu_seconds_total", .counter, "Processor time that the process has used, in seconds.",
                    (user + system) / ticks))
            families.append(
                MetricFamily(
                    "process_resident_memory_bytes", .gauge, "Memory of the process that is resident, in bytes.",
                    pages * Double(sysconf(Int32(_SC_PAGESIZE)))))
        }
        if let open = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
            // The look itself takes one.
            families.append(
                MetricFamily("process_open_fds", .gauge, "Descriptors that are open.", Double(max(0, open - 1))))
        }
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            families.append(
                MetricFamily("process_max_fds", .gauge, "Descriptors that may be open.", Double(limit.rlim_cur)))
        }
        return families
    }
}
