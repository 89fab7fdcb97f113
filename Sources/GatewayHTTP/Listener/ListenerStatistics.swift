internal import NIOCore

/// What there is to be said of a listener at one moment.
public struct ListenerStatistics: Sendable, Hashable {
    /// Connections that are open.
    public var connections = 0
    /// Calls that are served, those of clients that left included.
    public var calls = 0
    /// Calls that wait to be served.
    public var waiting = 0
    /// Connections that were accepted since the start.
    public var accepted: UInt64 = 0
}

extension Listener {
    /// Asks every loop; returns when all have answered.
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
