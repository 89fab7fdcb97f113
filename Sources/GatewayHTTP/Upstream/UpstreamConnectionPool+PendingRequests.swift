internal import Gateway
internal import NIOCore

extension UpstreamConnectionPool {
    /// Has the request wait for a connection.
    ///
    /// One timer is for all that wait: an event loop looks through all that it has scheduled to cancel one, which for a timer a
    /// request is thousands of steps where thousands wait.
    func wait(_ exchange: PendingExchange) {
        waiting.append(exchange)
        guard waiting.count == 1 || exchange.deadline < earliestDeadline else { return }
        earliestDeadline = exchange.deadline
        waitTimer.set(earliestDeadline)
    }

    /// Answers those that have waited beyond their deadline.
    func giveUpLate() {
        let now = eventLoop.now
        let late = waiting.filter { $0.deadline <= now }
        waiting.removeAll { $0.deadline <= now }
        earliestDeadline = waiting.lazy.map(\.deadline).min() ?? .distantFuture
        waitTimer.set(waiting.isEmpty ? nil : earliestDeadline)
        for exchange in late { exchange.finish(.timedOut) }
    }
}
