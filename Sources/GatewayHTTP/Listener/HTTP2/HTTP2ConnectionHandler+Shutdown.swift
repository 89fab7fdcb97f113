internal import GatewayCore
internal import NIOCore
internal import NIOHTTP2

/// The end of a connection.
///
/// A shutdown loses no request (RFC 9113, section 6.8). GOAWAY with the highest stream asks the client to open no further
/// stream, while streams are still accepted. When the client has answered a PING, it has read that GOAWAY, and all
/// streams that it opened before have arrived. A second GOAWAY then names the last of them.
extension HTTP2ConnectionHandler {
    /// Identifies the PING that follows the first GOAWAY.
    static let shutdownPing = HTTP2PingData(withInteger: 0x6E6F_7469_6679_2D32)

    /// Asks the client to open no further stream. A connection without any stream so far is not asked before `drain()`:
    /// it is new, and the client would only replace it by another one of the same listener.
    func announceShutdown() {
        guard phase == .open, lastStream != .rootStream, shutdownDeadline == nil else { return }
        setShutdownDeadline()
        announceIfIdle()
    }

    /// Closes the connection after the open streams. The client may open further streams until it has read that it
    /// must not. A connection without any stream so far may have a request on its way.
    func drain() {
        guard phase == .open || phase == .announced, !drainsAfterRoundTrip else { return }
        drainsAfterRoundTrip = true
        if hasAnsweredPing { return finishShutdown() }
        setShutdownDeadline()
        announceIfIdle()
    }

    /// Sends the first GOAWAY if the shutdown has begun and no stream is open. Some clients fail all open streams when
    /// they read GOAWAY, so the gateway waits for such a moment until the deadline.
    func announceIfIdle() {
        guard phase == .open, shutdownDeadline != nil, lastStream != .rootStream, streams.openCount == 0 else { return }
        announce()
    }

    private func announce() {
        phase = .announced
        setShutdownDeadline()
        rateLimiter.send(HTTP2FrameBytes.goAway(lastStream: .maxID, .noError))
        send(.ping(Self.shutdownPing, ack: false))
        context?.flush()
    }

    /// Processes the answer to the PING that follows the first GOAWAY.
    func receivedPingAnswer() {
        guard phase == .announced else { return }
        hasAnsweredPing = true
        if drainsAfterRoundTrip { finishShutdown() }
    }

    /// Names the last stream in GOAWAY and closes the connection after the open streams. Streams that the client opens
    /// before it reads GOAWAY are refused, so the client may repeat their requests elsewhere.
    func finishShutdown() {
        guard phase == .open || phase == .announced else { return }
        phase = .draining
        (shutdownDeadline, idleDeadline) = (nil, nil)
        rateLimiter.send(HTTP2FrameBytes.goAway(lastStream: lastStream, .noError))
        if streams.openCount == 0 { closeOutput() }
    }

    /// Closes the output after the last response. Closing a socket with unread bytes would lose the last responses.
    func closeOutput() {
        guard phase != .closing, let context else { return }
        phase = .closing
        let deadlines = loop.configuration.deadlines
        idleDeadline = loop.eventLoop.now + (hasUnsentBytes ? deadlines.body : deadlines.linger)
        scheduleTimer(by: idleDeadline)
        context.close(mode: .output, promise: nil)
    }

    /// Ends the connection because of an error. Nothing more is read. Calls in progress get their responses, because
    /// they may have had an effect.
    ///
    /// - Parameter code: The error code for GOAWAY; nil if the HTTP/2 library has sent GOAWAY.
    func fail(_ code: HTTP2ErrorCode?) {
        guard phase != .failing, phase != .closing else { return }
        if let code {
            rateLimiter.send(HTTP2FrameBytes.goAway(lastStream: lastStream, code))
            recordExceededLimit(code)
        }
        rateLimiter.discardInput()
        guard streams.values.contains(where: \.isServing) else { return close() }
        phase = .failing
        (shutdownDeadline, idleDeadline) = (nil, nil)
    }

    /// Records that the client has exceeded a limit on frames, if the error code of GOAWAY says so.
    func recordExceededLimit(_ code: HTTP2ErrorCode) {
        if code == .enhanceYourCalm, !isOutOfMemory { loop.exceededFrameLimit(peer) }
    }

    /// Sends GOAWAY and closes the connection at once.
    func evict() {
        if phase != .closing { rateLimiter.send(HTTP2FrameBytes.goAway(lastStream: lastStream, .noError)) }
        close()
    }

    /// Marks a connection without calls as idle, or as stalled if it has streams or waiting frames or is being closed.
    func updateEvictionEntry() {
        guard callsInProgress == 0 else { return }
        if phase == .open, streams.openCount == 0, !rateLimiter.hasWaitingFrames {
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

    private func setShutdownDeadline() {
        shutdownDeadline = loop.eventLoop.now + loop.configuration.deadlines.linger
        scheduleTimer(by: shutdownDeadline)
    }

    func deadlinePassed() {
        timerDeadline = nil
        let now = loop.eventLoop.now
        func hasPassed(_ deadline: NIODeadline?) -> Bool { deadline.map { $0 <= now } ?? false }
        if hasPassed(writabilityDeadline) { return closeImmediately() }
        if hasPassed(idleDeadline) {
            if phase == .closing { return closeImmediately() }
            idleDeadline = nil
            // A connection that was never used is closed without the round trip.
            if lastStream == .rootStream { finishShutdown() } else { drain() }
        }
        if hasPassed(shutdownDeadline) { shutdownDeadlinePassed() }
        for (id, stream) in streams.overdue(now) where awaitsClient { deadlinePassed(of: stream, id) }
        for deadline in [idleDeadline, writabilityDeadline, shutdownDeadline] { scheduleTimer(by: deadline) }
        for stream in streams.values where awaitsClient { scheduleTimer(by: stream.deadline) }
        enforceMemoryLimit()
    }

    /// Whether streams have deadlines. Once nothing more is read or written, only the connection has one.
    private var awaitsClient: Bool { phase != .failing && phase != .closing }

    private func shutdownDeadlinePassed() {
        shutdownDeadline = nil
        if phase == .open, lastStream != .rootStream {
            announce()
        } else if drainsAfterRoundTrip {
            finishShutdown()
        }
    }
}
