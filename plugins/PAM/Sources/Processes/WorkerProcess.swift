internal import CPAM
internal import Foundation

/// A worker process that this process started, with its guardian process as parent (`guardian.h`). Destroying the
/// value stops both and every process that modules started.
struct WorkerProcess: ~Copyable {
    /// The guardian's process id.
    let pid: pid_t

    /// Starts the program as a worker, in a session of its own. Its standard descriptors are `/dev/null`, and the
    /// socket is its only other descriptor.
    ///
    /// - Throws: `.notStarted`, also while too many stopped workers have not exited yet.
    init(program: String, arguments: [String], socket: CInt) throws(WorkerConnectionError) {
        guard UnreapedProcesses.sweep() < 16 else { throw .notStarted }
        // A crashing worker must not spend seconds on a backtrace.
        let environment = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "SWIFT_BACKTRACE=enable=no"]
        var pid: pid_t = 0
        let fault = Self.withStrings(["notify-gateway", "pam-worker"] + arguments) { arguments in
            Self.withStrings(environment) { environment in
                notify_gateway_spawn(program, arguments, environment, socket, &pid)
            }
        }
        guard fault == 0 else { throw .notStarted }
        self.pid = pid
    }

    deinit {
        // A signal, not SIGKILL: the guardian first kills the worker and the processes of the modules. The pid has
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
