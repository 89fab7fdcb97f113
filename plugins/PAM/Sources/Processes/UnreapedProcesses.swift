internal import Foundation
internal import Synchronization

/// Worker processes that were signalled to exit but have not exited yet. A process that hangs in the kernel, for
/// example in an unreachable file system, exits when the kernel lets it; nothing waits for it.
enum UnreapedProcesses {
    private static let pids = Mutex<[pid_t]>([])

    /// Waits at most a second for a process that was signalled to exit, a thousand times the usual duration.
    static func reap(_ pid: pid_t) {
        var microseconds: useconds_t = 100
        while microseconds < 500_000 {
            if hasEnded(pid) { return }
            usleep(microseconds)
            microseconds *= 2
        }
        pids.withLock { $0.append(pid) }
    }

    /// Reaps the processes that have exited and returns the number of the others.
    static func sweep() -> Int {
        pids.withLock { pids in
            pids.removeAll(where: hasEnded)
            return pids.count
        }
    }

    /// Queries this process only, because other parts of the program have children of their own.
    private static func hasEnded(_ pid: pid_t) -> Bool {
        let result = waitpid(pid, nil, WNOHANG)
        return result == pid || (result == -1 && errno == ECHILD)
    }
}
