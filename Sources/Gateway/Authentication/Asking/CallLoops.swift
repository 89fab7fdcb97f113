/// What a call waits by: timers and tasks on the very loop that it runs on. `GatewayHTTP` has the one of event loops.
///
/// Nothing of it may leave the loop, so that no call changes threads because it had to wait.
public protocol CallLoops: Sendable {
    /// Runs the work on the caller's loop when the time is over, unless the timer is cancelled before.
    func schedule(after time: Duration, _ work: @escaping @Sendable () -> Void) -> any CallTimer

    /// Starts a task on the caller's loop. It runs at once, within this call, up to its first wait, and is back on the loop
    /// after every one.
    @discardableResult func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never>
}

/// Work that waits for its time.
public protocol CallTimer: Sendable {
    /// Lets go of the work, if it has not begun.
    func cancel()
}
