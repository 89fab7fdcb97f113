internal import CPAM

/// What of a worker's process modules can change for the logins that follow.
struct WorkerState {
    private var state = notify_gateway_state()

    /// The state now.
    init() { notify_gateway_read_state(&state) }

    /// What has changed since.
    func changes() -> WorkerChanges {
        let now = WorkerState()
        return withUnsafePointer(to: state) { before in
            withUnsafePointer(to: now.state) { now in
                WorkerChanges(rawValue: UInt8(truncatingIfNeeded: notify_gateway_state_changes(before, now)))
            }
        }
    }
}

/// What modules have changed of a worker's process. A worker that was changed is not asked again.
struct WorkerChanges: OptionSet, Sendable, Hashable, CustomStringConvertible {
    let rawValue: UInt8

    /// Whom it runs as: users, groups, capabilities.
    static let identity = WorkerChanges(rawValue: 1)
    /// The root directory, or a namespace.
    static let root = WorkerChanges(rawValue: 2)
    /// Resource limits.
    static let limits = WorkerChanges(rawValue: 4)
    /// The working directory.
    static let directory = WorkerChanges(rawValue: 8)
    /// The mask of new files' modes.
    static let mask = WorkerChanges(rawValue: 16)
    /// The signals that are blocked.
    static let signals = WorkerChanges(rawValue: 32)

    /// After these the account database that the worker sees may be another one.
    static let misleading: WorkerChanges = [.identity, .root]

    var description: String {
        let names: [(WorkerChanges, String)] = [
            (.identity, "user"), (.root, "root directory"), (.limits, "limits"), (.directory, "working directory"),
            (.mask, "umask"), (.signals, "blocked signals"),
        ]
        return names.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}
