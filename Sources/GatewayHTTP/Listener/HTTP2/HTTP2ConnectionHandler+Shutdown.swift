internal import GatewayCore
internal import NIOCore
internal import NIOHTTP2

extension HTTP2ConnectionHandler {
    /// Makes the open streams the last ones. On a connection without any stream so far, the first one becomes the last.
    func announceShutdown() {
        if lastStream == .rootStream { drainsAfterFirstStream = true } else { drain() }
    }

    /// Sends GOAWAY and closes the connection after the open streams. Streams that the client opens before it reads
    /// GOAWAY are not processed, so the client may repeat their requests elsewhere (RFC 9113, section 6.8).
    func drain() {
        guard phase == .open else { return }
        phase = .draining
        send(.goAway(lastStreamID: lastStream, errorCode: .noError, opaqueData: nil))
        context?.flush()
        if streams.isEmpty { closeOutput() }
    }

    /// Closes the output after the last response. Closing a socket with unread bytes would lose the last responses.
    func closeOutput() {
        guard phase != .closing, let context else { return }
        phase = .closing
        idleDeadline = loop.eventLoop.now + loop.configuration.deadlines.linger
        scheduleTimer(by: idleDeadline)
        context.close(mode: .output, promise: nil)
    }

    /// Sends GOAWAY with the error code and closes the connection at once.
    func closeWithGoAway(_ code: HTTP2ErrorCode) {
        guard phase != .closing else { return }
        send(.goAway(lastStreamID: lastStream, errorCode: code, opaqueData: nil))
        context?.flush()
        phase = .closing
        context?.close(promise: nil)
    }

    func evict() { closeWithGoAway(.noError) }

    /// Marks a connection without calls as idle, or as stalled if it has streams or waiting frames or is being closed.
    func updateEvictionEntry() {
        guard callsInProgress == 0 else { return }
        if phase == .open, streams.isEmpty, !rateLimiter.hasWaitingFrames {
            evictionEntry?.markIdle()
        } else {
            evictionEntry?.markStalled()
        }
    }

    /// Sets the timer to the deadline, unless it is set to an earlier one.
    func scheduleTimer(by deadline: NIODeadline?) {
        guard let deadline, deadline < timerDeadline ?? .distantFuture else { return }
        timerDeadline = deadline
        timer.set(deadline)
    }

    func deadlinePassed() {
        timerDeadline = nil
        let now = loop.eventLoop.now
        func hasPassed(_ deadline: NIODeadline?) -> Bool { deadline.map { $0 <= now } ?? false }
        if hasPassed(writabilityDeadline) { return closeImmediately() }
        if hasPassed(idleDeadline) { return phase == .closing ? closeImmediately() : closeWithGoAway(.noError) }
        for (id, stream) in streams.overdue(now) {
            if case .receiving(let request) = stream.state {
                let fault = FramingError(code: .requestTimeout, detail: "the body did not arrive in time")
                reject(fault, on: id, omitsBody: request.head.isHead, isComplete: false)
            } else {
                // The response waits for flow control because the client never enlarged the window.
                send(.rstStream(.cancel), on: id)
                context?.flush()
            }
        }
        for deadline in [idleDeadline, writabilityDeadline] { scheduleTimer(by: deadline) }
        for stream in streams.values { scheduleTimer(by: stream.deadline) }
        enforceMemoryLimit()
    }
}
