internal import CPAM
internal import Foundation

/// A worker that this process started, with a guardian between them (`guardian.h`). Both end when the value goes, with all that
/// modules have started, so that nothing can be left behind.
struct WorkerProcess: ~Copyable {
    /// The guardian's.
    let pid: pid_t

    /// Starts the program as a worker, in a session of its own, with the socket as its only descriptor beside the standard
    /// ones, which are `/dev/null`.
    ///
    /// - Throws: `.notStarted`, also while too many killed workers have not ended yet.
    init(program: String, arguments: [String], socket: CInt) throws(WorkerFault) {
        guard UnreapedProcesses.sweep() < 16 else { throw .notStarted }
        // A worker that crashes must not spend seconds on a picture of how.
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
        // The guardian ends the worker and what modules forked, then itself. Killed, it could not. The pid is not reaped yet, so it
        // is nobody else's.
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
