internal import Foundation

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// A process as /proc (proc(5)) currently shows it. Tests use it to find leftover processes.
public struct ObservedProcess: Sendable, Hashable {
    /// The process id.
    public let pid: Int32

    /// Creates a view of the process with this id, which need not exist.
    public init(pid: Int32) { self.pid = pid }

    /// The process that runs the tests.
    public static let own = ObservedProcess(pid: getpid())

    /// All processes, zombies included.
    public static var all: [ObservedProcess] {
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return entries.compactMap { Int32($0) }.map(ObservedProcess.init)
    }

    /// The arguments, each followed by a NUL. Empty for a zombie, and for a process that does not exist.
    public var commandLine: String {
        (try? String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8)) ?? ""
    }

    /// The number of open descriptors, or nil if the process does not exist.
    public var descriptors: Int? { try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count }

    /// The children that have not been reaped.
    public var children: [Int32] { Self.statuses.filter { $0.parent == pid }.map(\.pid) }

    /// The children that have exited and have not been reaped.
    public var zombies: [Int32] { Self.statuses.filter { $0.parent == pid && $0.state == "Z" }.map(\.pid) }

    /// The workers, zombies included: the children of this program that lead a session.
    public var workers: [Int32] {
        Self.statuses.filter { $0.parent == pid && $0.session == $0.pid && $0.name == "notify-gateway" }.map(\.pid)
    }

    private struct Status {
        let pid: Int32
        let name: Substring
        let state: Substring
        let parent: Int32?
        let session: Int32?

        init?(_ pid: Int32) {
            guard let line = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
                // The name may contain parentheses, the fields after it do not.
                let start = line.firstIndex(of: "("), let end = line.lastIndex(of: ")")
            else { return nil }
            let fields = line[end...].dropFirst().split(separator: " ")
            guard fields.count > 3 else { return nil }
            self.pid = pid
            name = line[line.index(after: start)..<end]
            state = fields[0]
            parent = Int32(fields[1])
            session = Int32(fields[3])
        }
    }

    private static var statuses: [Status] { all.compactMap { Status($0.pid) } }
}

/// Returns the CPU time that this thread spends in the closure, independent of other load on the machine.
public func cpuTime(_ body: () throws -> Void) rethrows -> Duration {
    func now() -> Duration {
        var reading = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &reading)
        return .seconds(reading.tv_sec) + .nanoseconds(reading.tv_nsec)
    }
    let start = now()
    try body()
    return now() - start
}
