/// A scheduler of timers and tasks on the event loop that a call runs on. `GatewayHTTP` implements it.
///
/// No operation may leave the loop, so that a call never changes threads because it waited.
public protocol CallScheduler: Sendable {
    /// Runs the work on the caller's loop after the given time, unless the timer is cancelled before.
    func schedule(after time: Duration, _ work: @escaping @Sendable () -> Void) -> any CallTimer

    /// Starts a task on the caller's loop. The task runs synchronously up to its first suspension, and resumes on the
    /// loop after each one.
    @discardableResult func start(_ work: @escaping @Sendable () async -> Void) -> Task<Void, Never>
}

/// Scheduled work.
public protocol CallTimer: Sendable {
    /// Cancels the work if it has not begun.
    func cancel()
}
