internal import CWorkers
internal import Foundation
internal import Synchronization

/// A worker process that this process started, with its guardian process as parent (`guardian.h`). Destroying the
/// value stops both and every process that the worker started.
package struct WorkerProcess: ~Copyable {
    /// The guardian's process id.
    package let pid: Int32

    /// Starts the program as a worker, in a session of its own. Its standard descriptors are `/dev/null`, and the
    /// socket is its only other descriptor.
    ///
    /// - Parameter arguments: the command line, beginning with the command that makes the program a worker.
    /// - Throws: `.notStarted`, also while too many stopped workers have not exited yet.
    package init(program: String, arguments: [String], socket: CInt) throws(WorkerConnectionError) {
        guard UnreapedProcesses.sweep() < 16 else { throw .notStarted }
        // A crashing worker must not spend seconds on a backtrace.
        let environment = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "SWIFT_BACKTRACE=enable=no"]
        var pid: pid_t = 0
        let fault = Self.withStrings(["notify-gateway"] + arguments) { arguments in
            Self.withStrings(environment) { environment in
                notify_gateway_spawn(program, arguments, environment, socket, &pid)
            }
        }
        guard fault == 0 else { throw .notStarted }
        self.pid = pid
    }

    deinit {
        // A signal, not SIGKILL: the guardian first kills the worker and the processes that it started. The pid has
        // not been reaped, so it still belongs to the guardian.
        kill(pid, NOTIFY_GATEWAY_END_WORKER)
        UnreapedProcesses.reap(pid)
    }

    private static func withStrings<Result>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = strings.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }
}

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
