import Foundation

/// What logins must not leave behind in this process.
enum Leftovers {
    /// Workers of this process, zombies included: its children that lead a session of their own.
    static func workers() -> Int { pids().count }

    /// Kills them, waits for their end, which leaves zombies, and answers how many there were.
    static func killWorkers() -> Int {
        let pids = pids()
        for pid in pids {
            kill(pid, SIGKILL)
            var information = siginfo_t()
            waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT)
        }
        return pids.count
    }

    private static func pids() -> [Int32] {
        let own = getpid()
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return entries.compactMap { Int32($0) }.filter { pid in
            guard let line = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
                let end = line.lastIndex(of: ")"), line.contains("(notify-gateway)")
            else { return false }
            // After the name: state, parent, group, session.
            let fields = line[end...].split(separator: " ").dropFirst().map(String.init)
            return fields.count > 3 && fields[1] == "\(own)" && fields[3] == "\(pid)"
        }
    }

    /// Sockets of packets, which nothing else here uses.
    static func sockets() -> Int {
        (0..<4096).count { descriptor in
            var type: CInt = 0
            var length = socklen_t(MemoryLayout<CInt>.size)
            return getsockopt(CInt(descriptor), SOL_SOCKET, SO_TYPE, &type, &length) == 0
                && type == CInt(SOCK_SEQPACKET.rawValue)
        }
    }
}
