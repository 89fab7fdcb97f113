/// A destination outside the journal to which checkpoints are copied. Verification finds a checkpoint there that a
/// truncated journal no longer contains.
public enum CheckpointPlace: Sendable, Hashable {
    /// A file to which lines are appended, preferably on a disk or mount where the gateway's user can only append.
    case file(String)
    /// The system log.
    case syslog
}

extension JournalFile.Configuration {
    /// The destinations of checkpoint copies: the configured one and the ledger.
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
