/// A second place for checkpoints, so that a journal whose end was cut off shows it: what was signed there is missing here.
public enum CheckpointPlace: Sendable, Hashable {
    /// The end of a file, best on a disk or a mount that the gateway's user can only append to.
    case file(String)
    /// The system's log.
    case syslog
}

extension JournalFile.Configuration {
    /// Everything that takes checkpoints besides the journal.
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
