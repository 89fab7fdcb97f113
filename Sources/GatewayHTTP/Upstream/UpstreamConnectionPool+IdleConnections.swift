internal import NIOCore

// The connections that are kept between requests.

extension UpstreamConnectionPool {
    /// A kept connection for the request, the one that was used last; nil where it needs a new one, for which there is then room
    /// as far as closing a kept one makes some.
    func takeIdle(of destination: UpstreamDestination, for exchange: PendingExchange) -> UpstreamConnection? {
        while let last = destination.idle.last {
            if !last.isUsable {
                destination.idle.removeLast()
            } else if eventLoop.now - last.opened >= configuration.age {
                destination.idle.removeLast()
                forget(last)
                last.close()
            } else if exchange.mayBeRepeated || eventLoop.now - last.lastUsed <= configuration.freshness {
                return destination.idle.removeLast()
            } else {
                // All others are older still. A full pool gives up one of them for a new connection.
                if open >= maximum { giveUpOldest() }
                return nil
            }
        }
        if open >= maximum { giveUpOldest() }
        return nil
    }

    /// Closes the idle connection that was used longest ago, to whichever address.
    private func giveUpOldest() {
        let oldest = destinations.compactMap(\.idle.first).min { $0.lastUsed < $1.lastUsed }
        guard let oldest else { return }
        forget(oldest)
        oldest.close()
    }

    /// Has the timer run for the connection that was used longest ago.
    func armIdleTimer() {
        var oldest: NIODeadline?
        for destination in destinations {
            guard let first = destination.idle.first?.lastUsed else { continue }
            oldest = oldest.map { min($0, first) } ?? first
        }
        idleTimer.set(oldest.map { $0 + configuration.idle })
    }

    /// Closes what was not used for too long.
    func closeIdle() {
        for destination in destinations {
            while let oldest = destination.idle.first, oldest.lastUsed + configuration.idle <= eventLoop.now {
                destination.idle.removeFirst()
                forget(oldest)
                oldest.close()
            }
        }
        armIdleTimer()
    }
}
