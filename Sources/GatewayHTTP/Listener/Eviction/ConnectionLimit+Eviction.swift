internal import GatewayCore
internal import GatewaySupport
internal import NIOCore
internal import Synchronization

extension ConnectionLimit {
    /// Counts a connection in if there is room, or if an idle connection can be closed for it. Call it on the event
    /// loop of the connection.
    ///
    /// - Returns: Whether the connection is counted. The future is complete at once unless an idle connection of
    ///   another event loop must be closed first.
    func admit(_ owner: Peer?, on eventLoop: any EventLoop) -> EventLoopFuture<Bool> {
        switch admit(owner) {
        case .admitted:
            return eventLoop.makeSucceededFuture(true)
        case .admittedNearlyFull:
            // There is room, so the new connection does not wait for the other loops.
            if !evictOne(on: eventLoop) { _ = evictOneElsewhere(than: eventLoop) }
            return eventLoop.makeSucceededFuture(true)
        case .tooManyOfPeer:
            refused.add()
            return eventLoop.makeSucceededFuture(false)
        case .full:
            let isEvicted =
                evictOne(on: eventLoop) ? eventLoop.makeSucceededFuture(true) : evictOneElsewhere(than: eventLoop)
            return isEvicted.map { isEvicted in
                let isAdmitted = isEvicted && self.admitToFreePlace(owner)
                if !isAdmitted { self.refused.add() }
                return isAdmitted
            }
        }
    }

    /// Returns the idle connections of an event loop, for all listeners that share these limits. Call it on that loop.
    func idleConnections(on eventLoop: any EventLoop) -> EvictionCandidates {
        idleConnections.withLock { all in
            if let known = all.first(where: { $0.eventLoop === eventLoop }) { return known }
            let new = NIOLoopBound(EvictionCandidates(on: eventLoop), eventLoop: eventLoop)
            all.append(new)
            return new
        }.value
    }

    /// Counts a connection in if there is room. Another connection may have taken the place in the meantime.
    private func admitToFreePlace(_ owner: Peer?) -> Bool {
        switch admit(owner) {
        case .admitted, .admittedNearlyFull: true
        case .full, .tooManyOfPeer: false
        }
    }

    /// Closes an idle connection of the event loop. Returns false if there is none that can be closed.
    private func evictOne(on eventLoop: any EventLoop) -> Bool {
        guard let connection = idleConnections(on: eventLoop).removeCandidate() else { return false }
        recordEviction()
        connection.evict()
        return true
    }

    /// Closes one idle connection on the first of the other event loops that has one.
    private func evictOneElsewhere(than eventLoop: any EventLoop) -> EventLoopFuture<Bool> {
        let others = idleConnections.withLock { all in all.map(\.eventLoop) }.filter { $0 !== eventLoop }
        return evictOne(onFirstOf: others[...], for: eventLoop)
    }

    private func evictOne(
        onFirstOf loops: ArraySlice<any EventLoop>, for eventLoop: any EventLoop
    ) -> EventLoopFuture<Bool> {
        guard let next = loops.first else { return eventLoop.makeSucceededFuture(false) }
        return next.submit { self.evictOne(on: next) }.hop(to: eventLoop).flatMap { isDone in
            isDone
                ? eventLoop.makeSucceededFuture(true) : self.evictOne(onFirstOf: loops.dropFirst(), for: eventLoop)
        }
    }
}
