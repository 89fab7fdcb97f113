/// A second place for checkpoints, so that a journal whose end was cut off shows it: what was signed there is missing here.
public enum CheckpointPlace: Sendable, Hashable {
    /// The end of a file, best on a disk or a mount that the gateway's user can only append to.
    case file(String)
    /// The system's log.
    case syslog
}
