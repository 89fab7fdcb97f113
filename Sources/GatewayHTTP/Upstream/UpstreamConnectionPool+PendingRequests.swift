internal import Gateway
internal import NIOCore

extension UpstreamConnectionPool {
    /// Queues the request until a connection is free.
    ///
    /// One timer serves the complete queue. To cancel a timer, an event loop searches all of its scheduled tasks, which
    /// costs thousands of steps with one timer for each of thousands of requests.
    func wait(_ exchange: PendingExchange) {
        waiting.append(exchange)
        guard waiting.count == 1 || exchange.deadline < earliestDeadline else { return }
        earliestDeadline = exchange.deadline
        waitTimer.set(earliestDeadline)
    }

    /// Fails the queued requests whose deadline has passed.
    func failOverdue() {
        let now = eventLoop.now
        let late = waiting.filter { $0.deadline <= now }
        waiting.removeAll { $0.deadline <= now }
        earliestDeadline = waiting.lazy.map(\.deadline).min() ?? .distantFuture
        waitTimer.set(waiting.isEmpty ? nil : earliestDeadline)
        for exchange in late { exchange.finish(.timedOut) }
    }
}
