internal import Glibc

extension PAMStack {
    /// How many processes that were started for the stack, by whomever, do not end. What is about to go may take a moment, and is
    /// looked for again, for as long as `patience` at the most.
    public func lastingProcesses(patience: Duration = .seconds(10)) -> Int {
        let end = ContinuousClock.now + patience
        while true {
            let count = ObservedProcess.all.count { $0.commandLine.contains(path) }
            if count == 0 || ContinuousClock.now > end { return count }
            usleep(5000)
        }
    }
}
