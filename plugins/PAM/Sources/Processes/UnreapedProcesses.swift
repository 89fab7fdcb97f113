internal import Foundation
internal import Synchronization

/// Workers that were told to end and have not ended yet. One that hangs in the kernel, in a file system that has gone away, ends when that
/// lets it; nobody waits for it until then.
enum UnreapedProcesses {
    private static let pids = Mutex<[pid_t]>([])

    /// Waits for a process that was told to end, at most a second, which is a thousand times what it takes.
    static func reap(_ pid: pid_t) {
        var microseconds: useconds_t = 100
        while microseconds < 500_000 {
            if hasEnded(pid) { return }
            usleep(microseconds)
            microseconds *= 2
        }
        pids.withLock { $0.append(pid) }
    }

    /// Reaps those that have ended by now, and answers how many have not.
    static func sweep() -> Int {
        pids.withLock { pids in
            pids.removeAll(where: hasEnded)
            return pids.count
        }
    }

    /// Asks for this process only: other parts of the program have children of their own.
    private static func hasEnded(_ pid: pid_t) -> Bool {
        let result = waitpid(pid, nil, WNOHANG)
        return result == pid || (result == -1 && errno == ECHILD)
    }
}
