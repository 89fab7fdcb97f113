internal import CPAM

/// The state of a worker process that modules can change for later logins.
struct WorkerState {
    private var state = notify_gateway_state()

    /// Reads the current state.
    init() { notify_gateway_read_state(&state) }

    /// Returns the differences between this state and the current one.
    func changes() -> WorkerChanges {
        let now = WorkerState()
        return withUnsafePointer(to: state) { before in
            withUnsafePointer(to: now.state) { now in
                WorkerChanges(rawValue: UInt8(truncatingIfNeeded: notify_gateway_state_changes(before, now)))
            }
        }
    }
}

/// The changes that modules made to a worker process. A changed worker serves no further login.
struct WorkerChanges: OptionSet, Sendable, Hashable, CustomStringConvertible {
    let rawValue: UInt8

    /// The user: user ids, groups, capabilities.
    static let identity = WorkerChanges(rawValue: 1)
    /// The root directory, or a namespace.
    static let root = WorkerChanges(rawValue: 2)
    /// Resource limits.
    static let limits = WorkerChanges(rawValue: 4)
    /// The working directory.
    static let directory = WorkerChanges(rawValue: 8)
    /// The umask.
    static let mask = WorkerChanges(rawValue: 16)
    /// The set of blocked signals.
    static let signals = WorkerChanges(rawValue: 32)

    /// The changes after which the worker may see another account database.
    static let misleading: WorkerChanges = [.identity, .root]

    var description: String {
        let names: [(WorkerChanges, String)] = [
            (.identity, "user"), (.root, "root directory"), (.limits, "limits"), (.directory, "working directory"),
            (.mask, "umask"), (.signals, "blocked signals"),
        ]
        return names.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}
