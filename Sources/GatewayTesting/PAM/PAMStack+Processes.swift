internal import Glibc

extension PAMStack {
    /// Returns the number of processes with the stack's path in their command line. Repeats the count until it is 0,
    /// for at most `patience`, because processes may take a moment to exit.
    public func lastingProcesses(patience: Duration = .seconds(10)) -> Int {
        let end = ContinuousClock.now + patience
        while true {
            let count = ObservedProcess.all.count { $0.commandLine.contains(path) }
            if count == 0 || ContinuousClock.now > end { return count }
            usleep(5000)
        }
    }
}
