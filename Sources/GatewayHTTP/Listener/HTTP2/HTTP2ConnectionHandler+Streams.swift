internal import Gateway
internal import GatewayCore
internal import NIOCore
internal import NIOHPACK
internal import NIOHTTP2

extension HTTP2ConnectionHandler {
    /// Processes a HEADERS frame: the head of a new request, or the trailers of one that is incomplete.
    func received(_ payload: HTTP2Frame.FramePayload.Headers, on id: HTTP2StreamID) {
        if streams[id] != nil { return receivedTrailers(payload, on: id) }
        lastStream = max(lastStream, id)
        defer { if drainsAfterFirstStream { drain() } }
        // The limit on concurrent streams does not cover calls whose streams the client has reset.
        guard callsInProgress < HTTP2Limits.streams else {
            send(.rstStream(.refusedStream), on: id)
            context?.flush()
            return chargeRateLimiter()
        }
        idleDeadline = nil
        defer { updateEvictionEntry() }
        do throws(FramingError) {
            let request = try HTTP2RequestReader(
                payload.headers, limits: loop.configuration.limits, trustedProxy: source)
            streams[id] = HTTP2Stream(
                state: .receiving(HTTP2Stream.IncompleteRequest(request, isComplete: payload.endStream)))
            if payload.endStream { return serveCompleteRequest(on: id) }
            let deadline = loop.eventLoop.now + loop.configuration.deadlines.body
            streams[id]?.deadline = deadline
            scheduleTimer(by: deadline)
            if request.head.expectation == .continue100 {
                send(.headers(.init(headers: [":status": "100"])), on: id)
                context?.flush()
            }
        } catch {
            streams[id] = HTTP2Stream(state: .responded)
            reject(error, on: id, omitsBody: false, isComplete: payload.endStream)
        }
    }

    /// Processes trailers, whose content is ignored. Malformed trailers make the request malformed (RFC 9113, section
    /// 8.1.1).
    private func receivedTrailers(_ payload: HTTP2Frame.FramePayload.Headers, on id: HTTP2StreamID) {
        guard case .receiving(let request)? = streams[id]?.state else { return }
        do throws(FramingError) {
            try HTTP2RequestReader.check(trailers: payload.headers)
            if payload.endStream { serveCompleteRequest(on: id) }
        } catch {
            reject(error, on: id, omitsBody: request.head.isHead, isComplete: payload.endStream)
        }
    }

    /// Processes a DATA frame.
    func received(_ payload: HTTP2Frame.FramePayload.Data, on id: HTTP2StreamID) {
        guard case .receiving(let request)? = streams[id]?.state,
            case .byteBuffer(let piece) = payload.data
        else { return }
        guard request.body.readableBytes + piece.readableBytes <= loop.configuration.limits.body else {
            let fault = FramingError(code: .payloadTooLarge, detail: "the body is too long")
            return reject(fault, on: id, omitsBody: request.head.isHead, isComplete: payload.endStream)
        }
        streams.append(piece, to: request)
        if payload.endStream { serveCompleteRequest(on: id) }
    }

    /// Removes a stream that both sides have closed or that was reset.
    func closed(_ id: HTTP2StreamID) {
        guard let stream = streams[id] else { return }
        streams[id] = nil
        stream.signalDisconnect()
        updateUnread()
        guard streams.isEmpty else { return }
        if phase == .draining { return closeOutput() }
        idleDeadline = loop.eventLoop.now + loop.idleTime
        scheduleTimer(by: idleDeadline)
        updateEvictionEntry()
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

    private func serveCompleteRequest(on id: HTTP2StreamID) {
        guard case .receiving(let request)? = streams[id]?.state else { return }
        let clientDisconnect = ClientDisconnect()
        streams[id] = HTTP2Stream(state: .serving(clientDisconnect, omitsBody: request.head.isHead))
        let framed = FramedRequest(head: request.head, headBytes: request.bytes, body: request.body)
        callsInProgress += 1
        evictionEntry?.markBusy()
        if loop.admit(framed) { return begin(framed, on: id, clientDisconnect) }
        loop.admissionQueue.enqueue(
            AdmissionQueue.Call(
                isAwaited: { !clientDisconnect.hasDisconnected },
                begin: { self.begin(framed, on: id, clientDisconnect) },
                reject: {
                    let callID = self.loop.ids.next()
                    self.respond(self.loop.overloadResponse(callID), id: callID, on: id)
                }))
    }

    private func begin(_ framed: FramedRequest, on id: HTTP2StreamID, _ clientDisconnect: ClientDisconnect) {
        let callID = loop.ids.next()
        var request = loop.request(
            framed, id: callID, peer: peer, allowsCredentials: allowsCredentials, certificate: certificate)
        request.clientDisconnect = clientDisconnect
        let handler = NIOLoopBound(self, eventLoop: loop.eventLoop)
        Task.immediate(executorPreference: loop.executor) { [serving = loop.serving, request] in
            let response = await serving.serve(request)
            handler.value.finish(response, id: callID, on: id)
        }
    }

    private func finish(_ response: Response, id: CallID, on stream: HTTP2StreamID) {
        loop.finishedCall()
        if case .serving? = streams[stream]?.state { rateLimiter.served() }
        self.respond(response, id: id, on: stream)
        loop.admissionQueue.beginNext()
    }

    private func respond(_ response: Response, id: CallID, on stream: HTTP2StreamID) {
        callsInProgress -= 1
        defer { updateEvictionEntry() }
        guard case .serving(_, let omitsBody)? = streams[stream]?.state else { return }
        write(response, id: id, on: stream, omitsBody: omitsBody)
        context?.flush()
        updateUnread()
    }

    /// Ends a request that is not served: sends the error response, or only RST_STREAM if the fault demands it, and
    /// charges the rate limiter.
    func reject(_ fault: FramingError, on stream: HTTP2StreamID, omitsBody: Bool, isComplete: Bool) {
        let id = loop.ids.next()
        let response = loop.serving.reject(Rejection(fault), id: id)
        if fault.resetsStream {
            send(.rstStream(.protocolError), on: stream)
            context?.flush()
            return chargeRateLimiter()
        }
        write(response, id: id, on: stream, omitsBody: omitsBody)
        context?.flush()
        // The rest of the request is not needed (RFC 9113, section 8.1). A reset discards frames that were not flushed
        // before.
        if !isComplete {
            send(.rstStream(.noError), on: stream)
            context?.flush()
        }
        chargeRateLimiter()
    }

    private func write(_ response: Response, id: CallID, on stream: HTTP2StreamID, omitsBody: Bool) {
        guard let context, phase != .closing else { return }
        let deadline = loop.eventLoop.now + loop.configuration.deadlines.body
        let hasBody = !omitsBody && !response.body.isEmpty && ResponseWriter.mayHaveBody(response.status)
        streams[stream] = HTTP2Stream(
            state: .responded, deadline: deadline, unreadBytes: hasBody ? response.body.count : 0)
        send(
            .headers(.init(headers: loop.responseWriter.fields(of: response, id: id), endStream: !hasBody)), on: stream)
        if hasBody {
            let body = context.channel.allocator.buffer(bytes: response.body)
            send(.data(.init(data: .byteBuffer(body), endStream: true)), on: stream)
        }
        // A response without a body may already have closed and removed the stream.
        if streams[stream] != nil { scheduleTimer(by: deadline) }
    }

    /// Charges an invalid request to the frame rate limit, and closes the connection if the allowance is exhausted.
    private func chargeRateLimiter() {
        if !rateLimiter.charge() { closeWithGoAway(.enhanceYourCalm) }
    }
}
