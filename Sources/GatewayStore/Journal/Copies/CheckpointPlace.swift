/// A second place for checkpoints. A journal whose end was cut off lacks checkpoints that are found there.
public enum CheckpointPlace: Sendable, Hashable {
    /// A file to which lines are appended, preferably on a disk or mount where the gateway's user can only append.
    case file(String)
    /// The system log.
    case syslog
}

extension JournalFile.Configuration {
    /// All receivers of checkpoints besides the journal itself.
    var checkpointSinks: [any CheckpointSink] {
        var sinks: [any CheckpointSink] = []
        switch checkpointCopy {
        case .file(let path): sinks.append(CheckpointFile(path: path))
        case .syslog: sinks.append(CheckpointSyslog())
        case nil: break
        }
        if let ledger { sinks.append(CheckpointLedger(ledger: ledger)) }
        return sinks
    }
}
