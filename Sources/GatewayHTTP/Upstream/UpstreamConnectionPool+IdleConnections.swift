internal import NIOCore

// The idle connections of the pool.

extension UpstreamConnectionPool {
    /// Removes and returns the destination's most recently used idle connection; nil if the request needs a new one. In
    /// that case the function closes an idle connection if the pool is full.
    func removeIdle(of destination: UpstreamDestination, for exchange: PendingExchange) -> UpstreamConnection? {
        while let last = destination.idle.last {
            if !last.isUsable {
                destination.idle.removeLast()
            } else if eventLoop.now - last.opened >= configuration.maximumAge {
                destination.idle.removeLast()
                removeFromPool(last)
                last.close()
            } else if exchange.isRetryable
                || eventLoop.now - last.lastUsed <= configuration.maximumIdleTimeForNonRetryable
            {
                return destination.idle.removeLast()
            } else {
                // All other idle connections have been idle for longer. A full pool closes one to make room for a new
                // connection.
                if open >= maximum { closeLeastRecentlyUsedIdle() }
                return nil
            }
        }
        if open >= maximum { closeLeastRecentlyUsedIdle() }
        return nil
    }

    /// Closes the least recently used idle connection of all destinations.
    private func closeLeastRecentlyUsedIdle() {
        let oldest = destinations.compactMap(\.idle.first).min { $0.lastUsed < $1.lastUsed }
        guard let oldest else { return }
        removeFromPool(oldest)
        oldest.close()
    }

    /// Sets the timer to the expiry of the least recently used idle connection.
    func armIdleTimer() {
        var oldest: NIODeadline?
        for destination in destinations {
            guard let first = destination.idle.first?.lastUsed else { continue }
            oldest = oldest.map { min($0, first) } ?? first
        }
        idleTimer.set(oldest.map { $0 + configuration.idleTimeout })
    }

    /// Closes the connections whose idle time has expired.
    func closeExpiredIdle() {
        for destination in destinations {
            while let oldest = destination.idle.first, oldest.lastUsed + configuration.idleTimeout <= eventLoop.now {
                destination.idle.removeFirst()
                removeFromPool(oldest)
                oldest.close()
            }
        }
        armIdleTimer()
    }
}
