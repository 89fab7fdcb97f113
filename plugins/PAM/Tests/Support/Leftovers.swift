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

    /// Processes that were started for the stack, by whomever, without zombies. What was killed may take a moment to go, so
    /// this looks again for a while, and answers as soon as there are none.
    static func processes(of stack: TestStack) -> Int {
        var count = 0
        for _ in 0..<2000 {
            let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            count = entries.compactMap { Int32($0) }.count { pid in
                let line = try? String(contentsOfFile: "/proc/\(pid)/cmdline", encoding: .utf8)
                return line?.contains(stack.path) ?? false
            }
            if count == 0 { return 0 }
            usleep(1000)
        }
        return count
    }

    /// Whether the bytes are anywhere in the memory of a worker that it can write.
    static func workersHold(_ bytes: String) throws -> Bool {
        for pid in pids() {
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
