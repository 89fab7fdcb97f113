import Foundation
import GatewayTesting

/// Counts of what logins must not leave behind in this process.
enum Leftovers {
    /// Returns the number of this process's workers, zombies included.
    static func workers() -> Int { ObservedProcess.own.workers.count }

    /// Kills the workers of the guardians and waits until the guardians are zombies. Returns the number of workers.
    static func killWorkers() -> Int {
        let pids = ObservedProcess.own.workers
        for pid in pids {
            for worker in ObservedProcess(pid: pid).children { kill(worker, SIGKILL) }
            var information = siginfo_t()
            waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT)
        }
        return pids.count
    }

    /// Whether the text occurs in writable memory of a worker.
    static func workersHold(_ bytes: String) throws -> Bool {
        for pid in ObservedProcess.own.workers.flatMap({ [$0] + ObservedProcess(pid: $0).children }) {
            let maps = try String(contentsOfFile: "/proc/\(pid)/maps", encoding: .utf8)
            let memory = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(pid)/mem"))
            for line in maps.split(separator: "\n") where line.contains(" rw") {
                let range = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt64($0, radix: 16) }
                guard range.count == 2, range[1] - range[0] <= 1 << 28 else { continue }
                try memory.seek(toOffset: range[0])
                guard let region = try? memory.read(upToCount: Int(range[1] - range[0])) else { continue }
                if region.range(of: Data(bytes.utf8)) != nil { return true }
            }
        }
        return false
    }

    /// Returns the number of SOCK_SEQPACKET sockets of this process, which only worker connections use.
    static func sockets() -> Int {
        (0..<4096).count { descriptor in
            var type: CInt = 0
            var length = socklen_t(MemoryLayout<CInt>.size)
            return getsockopt(CInt(descriptor), SOL_SOCKET, SO_TYPE, &type, &length) == 0
                && type == CInt(SOCK_SEQPACKET.rawValue)
        }
    }
}
