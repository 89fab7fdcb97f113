internal import Gateway
internal import GatewayCore
internal import NIOCore
internal import NIOHTTP2

extension HTTP2ConnectionHandler {
    /// Serves a complete request.
    func serve(_ framed: FramedRequest, on id: HTTP2StreamID) {
        let clientDisconnect = ClientDisconnect()
        streams[id] = HTTP2Stream(state: .serving(clientDisconnect, framed))
        callsInProgress += 1
        evictionEntry?.markBusy()
        if loop.admit(framed) { return begin(framed, on: id, clientDisconnect) }
        streams[id]?.pendingBytes =
            HTTP2Stream.overhead + framed.headBytes.storageCapacity + framed.body.storageCapacity
        // The queue holds no request: one that is rejected for lack of memory is released at once.
        loop.admissionQueue.enqueue(
            AdmissionQueue.Call(
                owner: loop.turnOwner(of: framed, on: self, of: peer),
                isAwaited: { !clientDisconnect.hasDisconnected }, begin: { self.beginWaiting(id) },
                reject: {
                    guard self.streams[id]?.isServing == true else { return self.endCall() }
                    let callID = self.loop.ids.next()
                    self.respond(self.loop.overloadResponse(callID), id: callID, on: id)
                }))
        updatePending()
    }

    private func beginWaiting(_ id: HTTP2StreamID) {
        guard case .serving(let clientDisconnect, let framed)? = streams[id]?.state else {
            endCall()
            return loop.finishedCall()
        }
        streams[id]?.pendingBytes = 0
        updatePending()
        begin(framed, on: id, clientDisconnect)
    }

    /// Rejects a call that waits for admission. The queue drops it later.
    func rejectWaiting(_ id: HTTP2StreamID) {
        guard case .serving(let clientDisconnect, let framed)? = streams[id]?.state else { return }
        clientDisconnect.signal()
        let callID = loop.ids.next()
        conclude(framed, with: loop.overloadResponse(callID), id: callID, on: id)
    }

    private func begin(_ framed: FramedRequest, on id: HTTP2StreamID, _ clientDisconnect: ClientDisconnect) {
        let callID = loop.ids.next()
        let bound = NIOLoopBound((handler: self, framed: framed), eventLoop: loop.eventLoop)
        // The task does not keep the request that it passes on.
        Task.immediate(executorPreference: loop.executor) { [serving = loop.serving] in
            let response = await serving.serve(
                bound.value.handler.request(bound.value.framed, id: callID, clientDisconnect))
            bound.value.handler.finish(response, id: callID, on: id)
        }
    }

    private func request(
        _ framed: FramedRequest, id: CallID, _ clientDisconnect: ClientDisconnect
    ) -> ReceivedRequest {
        var request = loop.request(
            framed, id: id, peer: peer, allowsCredentials: allowsCredentials, certificate: certificate)
        request.clientDisconnect = clientDisconnect
        return request
    }

    private func finish(_ response: Response, id: CallID, on stream: HTTP2StreamID) {
        loop.finishedCall()
        if streams[stream]?.isServing == true {
            rateLimiter.served()
            if !loop.proxiedClients.isEmpty, let client = clientOfStream(stream) { loop.proxiedClients.refund(client) }
        }
        self.respond(response, id: id, on: stream)
        loop.admissionQueue.beginNext()
    }

    private func respond(_ response: Response, id: CallID, on stream: HTTP2StreamID) {
        defer { endCall() }
        guard case .serving(_, let framed)? = streams[stream]?.state else { return }
        conclude(framed, with: response, id: id, on: stream)
        updatePending()
    }

    private func conclude(_ framed: FramedRequest, with response: Response, id: CallID, on stream: HTTP2StreamID) {
        write(response, id: id, on: stream, omitsBody: framed.head.isHead)
        context?.flush()
        if phase == .failing, !streams.values.contains(where: \.isServing) { closeOutput() }
    }

    private func endCall() {
        callsInProgress -= 1
        updateEvictionEntry()
    }

    /// Writes a response. The caller flushes it.
    ///
    /// - Parameter isComplete: Whether the client has sent the complete request. The rest of an incomplete one is
    ///   discarded for a short time before the stream is reset (RFC 9113, section 8.1).
    func write(
        _ response: Response, id: CallID, on stream: HTTP2StreamID, omitsBody: Bool, isComplete: Bool = true
    ) {
        guard let context, phase != .closing else { return }
        let deadlines = loop.configuration.deadlines
        let deadline = loop.eventLoop.now + (isComplete ? deadlines.body : deadlines.linger)
        let state = isComplete ? HTTP2Stream.State.responded : .discarding(hasSentResponse: false)
        let hasBody = !omitsBody && !response.body.isEmpty && ResponseWriter.mayHaveBody(response.status)
        streams[stream] = HTTP2Stream(
            state: state, deadline: deadline, pendingBytes: hasBody ? response.body.count : 0)
        send(
            .headers(.init(headers: loop.responseWriter.fields(of: response, id: id), endStream: !hasBody)), on: stream)
        if hasBody {
            let body = context.channel.allocator.buffer(bytes: response.body)
            send(.data(.init(data: .byteBuffer(body), endStream: true)), on: stream)
        }
        // A response without a body may already have closed and removed the stream.
        if streams[stream] != nil { scheduleTimer(by: deadline) }
    }

    /// Records that the HTTP/2 library has written the end of a response.
    func sentResponse(on id: HTTP2StreamID) {
        guard let stream = streams[id], case .discarding(hasSentResponse: false) = stream.state else { return }
        streams[id] = HTTP2Stream(state: .discarding(hasSentResponse: true), deadline: stream.deadline)
    }
}
