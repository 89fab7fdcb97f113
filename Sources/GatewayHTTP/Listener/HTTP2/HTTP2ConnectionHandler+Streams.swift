internal import GatewayCore
internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2

extension HTTP2ConnectionHandler {
    /// Processes a HEADERS frame: the head of a new request, or the trailers of one that is incomplete.
    func received(_ payload: HTTP2Frame.FramePayload.Headers, on id: HTTP2StreamID) {
        if streams[id] != nil { return receivedTrailers(payload, on: id) }
        guard phase == .open || phase == .announced else { return refuse(id, isComplete: payload.endStream) }
        lastStream = max(lastStream, id)
        // The limit on concurrent streams does not cover calls whose streams the client has reset. A proxy's clients
        // have limits of their own.
        guard streams.openCount < HTTP2Limits.streams, carriesManyClients || callsInProgress < HTTP2Limits.streams
        else { return refuse(id, isComplete: payload.endStream) }
        idleDeadline = nil
        defer { updateEvictionEntry() }
        do throws(FramingError) {
            let reader = try HTTP2RequestReader(
                payload.headers, limits: loop.configuration.limits, trustedProxy: source)
            let request = HTTP2Stream.IncompleteRequest(reader, isComplete: payload.endStream)
            streams[id] = HTTP2Stream(state: .receiving(request))
            if isOverAllowance(clientOfStream(id)) {
                return reject(.tooManyAborts, on: id, isComplete: payload.endStream)
            }
            if payload.endStream { return completedRequest(request, on: id) }
            let deadline = loop.eventLoop.now + loop.configuration.deadlines.body
            streams[id]?.deadline = deadline
            scheduleTimer(by: deadline)
            if request.head.expectation == .continue100 {
                send(.headers(.init(headers: [":status": "100"])), on: id)
                context?.flush()
            }
        } catch {
            streams[id] = HTTP2Stream(state: .responded)
            reject(error, on: id, isComplete: payload.endStream)
        }
    }

    /// Processes trailers, whose content is ignored. Malformed trailers make the request malformed (RFC 9113, section
    /// 8.1.1).
    private func receivedTrailers(_ payload: HTTP2Frame.FramePayload.Headers, on id: HTTP2StreamID) {
        guard case .receiving(let request)? = streams[id]?.state else {
            return payload.endStream ? discardedRequestEnded(on: id) : ()
        }
        do throws(FramingError) {
            try HTTP2RequestReader.check(trailers: payload.headers)
            if payload.endStream { completedRequest(request, on: id) }
        } catch {
            reject(error, on: id, isComplete: payload.endStream)
        }
    }

    /// Processes a DATA frame.
    func received(_ payload: HTTP2Frame.FramePayload.Data, on id: HTTP2StreamID) {
        guard case .receiving(let request)? = streams[id]?.state, case .byteBuffer(let piece) = payload.data else {
            return payload.endStream ? discardedRequestEnded(on: id) : ()
        }
        let length = request.body.readableBytes + piece.readableBytes
        guard length <= loop.configuration.limits.body else {
            let fault = FramingError(code: .payloadTooLarge, detail: "the body is too long")
            return reject(fault, on: id, isComplete: payload.endStream)
        }
        guard length <= request.head.contentLength ?? length else {
            return reject(.bodyLengthMismatch, on: id, isComplete: payload.endStream)
        }
        streams.append(piece, to: request)
        if payload.endStream { return completedRequest(request, on: id) }
        guard carriesManyClients, piece.readableBytes < FrameRateLimiter.minimumDataBytes else { return }
        let client = clientOfStream(id)
        charge(client)
        if isOverAllowance(client) { reject(.tooManyAborts, on: id, isComplete: false) }
    }

    private func completedRequest(_ request: HTTP2Stream.IncompleteRequest, on id: HTTP2StreamID) {
        guard request.body.readableBytes == request.head.contentLength ?? request.body.readableBytes else {
            return reject(.bodyLengthMismatch, on: id, isComplete: true)
        }
        serve(FramedRequest(head: request.head, headBytes: request.bytes, body: request.body), on: id)
    }

    /// Processes the end of a request that the gateway does not need.
    private func discardedRequestEnded(on id: HTTP2StreamID) {
        switch streams[id]?.state {
        case .discarding(hasSentResponse: false):
            let deadline = loop.eventLoop.now + loop.configuration.deadlines.body
            streams[id]?.state = .responded
            streams[id]?.deadline = deadline
            scheduleTimer(by: deadline)
        case .reset(hasSentResponse: false):
            // The library still has the stream. The client ignores a further reset.
            send(.rstStream(.noError), on: id)
            context?.flush()
        // The library closes the stream.
        case .discarding, .reset, .receiving, .serving, .responded, nil: break
        }
    }

    /// Removes a stream that both sides have closed or that was reset.
    func closed(_ id: HTTP2StreamID) {
        guard let stream = streams[id] else { return }
        switch stream.state {
        // The client has aborted the request. On a connection of one client, its RST_STREAM frame has been charged.
        case .receiving, .serving: if carriesManyClients { charge(clientOfStream(id)) }
        case .responded, .discarding, .reset: break
        }
        streams[id] = nil
        stream.signalDisconnect()
        updatePending()
        streamEnded()
    }

    /// Closes the connection, or starts its idle time, if no stream is open.
    func streamEnded() {
        guard streams.openCount == 0 else { return }
        switch phase {
        case .draining: closeOutput()
        case .failing, .closing: break
        case .open, .announced:
            idleDeadline = loop.eventLoop.now + loop.idleTime
            scheduleTimer(by: idleDeadline)
            updateEvictionEntry()
            announceIfIdle()
        }
    }

    /// Restores the connection's flow-control window. A stream's window is large enough for a complete body and needs
    /// no update.
    func restoreWindow(_ event: NIOHTTP2WindowUpdatedEvent) {
        guard event.streamID == .rootStream, phase != .closing, let size = event.inboundWindowSize,
            size < HTTP2Limits.window / 2
        else { return }
        send(.windowUpdate(windowSizeIncrement: HTTP2Limits.window - size))
        context?.flush()
    }
}
