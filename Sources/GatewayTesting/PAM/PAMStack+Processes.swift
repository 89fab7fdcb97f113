internal import CPAM
internal import Glibc

extension PAMStack {
    /// How many processes that were started for the stack, by whomever, do not end. What is about to go may take a moment, and is
    /// waited for.
    public func lastingProcesses() -> Int {
        ObservedProcess.all.count { process in
            // First held, then looked at: the number could be another's by then.
            let handle = notify_gateway_pidfd(process.pid)
            guard handle >= 0 else { return false }
            defer { close(handle) }
            guard process.commandLine.contains(path) else { return false }
            var end = pollfd(fd: handle, events: Int16(POLLIN), revents: 0)
            return poll(&end, 1, 10_000) != 1
        }
    }
}
