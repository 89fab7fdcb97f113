internal import GatewayCore
internal import NIOCore
internal import NIOHTTP2

extension HTTP2ConnectionHandler {
    /// Has the streams that are open be the last; of a connection that has had none, the first that comes.
    func announceEnd() {
        if lastStream == .rootStream { endsAfterFirst = true } else { drain() }
    }

    /// Ends the connection after the streams that are open. What the client opens before it knows is refused, and was not looked
    /// at: it may be sent again elsewhere (RFC 9113, section 6.8).
    func drain() {
        guard phase == .open else { return }
        phase = .draining
        send(.goAway(lastStreamID: lastStream, errorCode: .noError, opaqueData: nil))
        context?.flush()
        if streams.isEmpty { hangUp() }
    }

    /// Everything was answered. Our side closes first: a close with unread bytes would cost the client the last answers.
    func hangUp() {
        guard phase != .closing, let context else { return }
        phase = .closing
        idleUntil = loop.eventLoop.now + loop.configuration.deadlines.linger
        wake(by: idleUntil)
        context.close(mode: .output, promise: nil)
    }

    /// Ends the connection at once, and says why.
    func end(_ code: HTTP2ErrorCode) {
        guard phase != .closing else { return }
        send(.goAway(lastStreamID: lastStream, errorCode: code, opaqueData: nil))
        context?.flush()
        phase = .closing
        context?.close(promise: nil)
    }

    func evict() {
        let channel = context?.channel
        end(.noError)
        channel?.closeWithoutWaiting()
    }

    /// Says whether the connection may be closed for another.
    func updateIdleEntry() {
        if phase == .open, streams.isEmpty, callsUnderWay == 0 {
            idleEntry?.markIdle(wasUsed: lastStream != .rootStream)
        } else {
            idleEntry?.markBusy()
        }
    }

    /// Has the timer run for the deadline, unless it does so for an earlier one already.
    func wake(by deadline: NIODeadline?) {
        guard let deadline, deadline < wakeUp ?? .distantFuture else { return }
        wakeUp = deadline
        timer.set(deadline)
    }

    func deadlinePassed() {
        wakeUp = nil
        let now = loop.eventLoop.now
        func isOver(_ deadline: NIODeadline?) -> Bool { deadline.map { $0 <= now } ?? false }
        if isOver(stuckUntil) { return cut() }
        if isOver(idleUntil) { return phase == .closing ? cut() : end(.noError) }
        for (id, stream) in streams.overdue(now) {
            if case .receiving(let request) = stream.state {
                let fault = FramingError(code: .requestTimeout, detail: "the body did not come in time")
                reject(fault, on: id, omitsBody: request.head.isHead, isComplete: false)
            } else {
                // Its answer waits for a window that the client never opened.
                send(.rstStream(.cancel), on: id)
                context?.flush()
            }
        }
        for deadline in [idleUntil, stuckUntil] { wake(by: deadline) }
        for stream in streams.values { wake(by: stream.deadline) }
        keepWithinMemory()
    }
}
