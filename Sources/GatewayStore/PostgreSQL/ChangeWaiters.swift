internal import GatewaySupport

/// The callers that wait for the next reading of the changes of other nodes, or for a change to have effect everywhere.
struct ChangeWaiters {
    /// Callers that wait for one reading.
    struct Refreshes {
        fileprivate let continuations: [CheckedContinuation<Bool, Never>]

        /// Resumes the callers.
        ///
        /// - Parameter isRead: Whether the reading has succeeded.
        func resume(isRead: Bool) {
            for continuation in continuations { continuation.resume(returning: isRead) }
        }
    }

    private struct Waiter {
        let change: Int64
        let deadline: MonotonicInstant
        let continuation: CheckedContinuation<Bool, Never>
    }

    private var refreshes: [CheckedContinuation<Bool, Never>] = []
    private var waiters: [Waiter] = []

    /// Adds a caller that waits for the next reading.
    mutating func addRefresh(_ continuation: CheckedContinuation<Bool, Never>) { refreshes.append(continuation) }

    /// Adds a caller that waits until the change has effect everywhere, or until the deadline.
    mutating func add(
        _ change: Int64, until deadline: MonotonicInstant, _ continuation: CheckedContinuation<Bool, Never>
    ) {
        waiters.append(Waiter(change: change, deadline: deadline, continuation: continuation))
    }

    /// Removes and returns the callers that wait for the reading that begins now.
    mutating func takeRefreshes() -> Refreshes {
        defer { refreshes = [] }
        return Refreshes(continuations: refreshes)
    }

    /// Removes and returns the callers whose change has effect everywhere, or that have waited long enough.
    mutating func takeApplied(upTo number: Int64, now: MonotonicInstant) -> [CheckedContinuation<Bool, Never>] {
        let isDone = { (waiter: Waiter) in waiter.change <= number || waiter.deadline <= now }
        defer { waiters.removeAll(where: isDone) }
        return waiters.filter(isDone).map(\.continuation)
    }
}
