internal import NIOCore

/// A snapshot of a listener's counts.
public struct ListenerStatistics: Sendable, Hashable {
    /// The number of open connections.
    public var connections = 0
    /// The number of calls in progress, including those whose client has disconnected.
    public var calls = 0
    /// The number of calls in the admission queue.
    public var waiting = 0
    /// The number of connections accepted since the start.
    public var accepted: UInt64 = 0
}

extension Listener {
    /// Returns the sum over all event loops.
    public func reading() async -> ListenerStatistics {
        await withTaskGroup { tasks in
            for loop in loops {
                let future = loop.eventLoop.submit { loop.value.reading }
                tasks.addTask { (try? await future.get()) ?? ListenerStatistics() }
            }
            return await tasks.reduce(into: ListenerStatistics()) { sum, reading in
                sum.connections += reading.connections
                sum.calls += reading.calls
                sum.waiting += reading.waiting
                sum.accepted += reading.accepted
            }
        }
    }
}
