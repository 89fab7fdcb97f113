internal import Gateway
internal import GatewayCore
internal import NIOCore
internal import NIOHTTP2

/// Streams that end with an error. An error of one stream affects no other stream, whatever of it is still on its way.
extension HTTP2ConnectionHandler {
    /// Ends a request that is not served: sends the error response, or only RST_STREAM if the fault demands it, and
    /// charges the client.
    func reject(_ fault: FramingError, on id: HTTP2StreamID, isComplete: Bool) {
        let client = carriesManyClients ? clientOfStream(id) : nil
        var omitsBody = false
        if case .receiving(let request)? = streams[id]?.state { omitsBody = request.head.isHead }
        let callID = loop.ids.next()
        let response = loop.serving.reject(Rejection(fault), id: callID)
        if fault.resetsStream {
            streams[id] = HTTP2Stream(state: .responded)
            reset(id, .protocolError, isComplete: isComplete)
        } else {
            write(response, id: callID, on: id, omitsBody: omitsBody, isComplete: isComplete)
            context?.flush()
        }
        charge(client)
    }

    /// Refuses a new stream. The client may repeat its request (RFC 9113, section 8.7).
    func refuse(_ id: HTTP2StreamID, isComplete: Bool) {
        reset(id, .refusedStream, isComplete: isComplete)
        charge(nil)
    }

    /// Ends a stream whose deadline has passed.
    func deadlinePassed(of stream: HTTP2Stream, _ id: HTTP2StreamID) {
        switch stream.state {
        case .receiving:
            let fault = FramingError(code: .requestTimeout, detail: "the body did not arrive in time")
            reject(fault, on: id, isComplete: false)
        case .discarding(hasSentResponse: true):
            reset(id, .noError, isComplete: false, hasSentResponse: true)
        case .discarding(hasSentResponse: false), .responded:
            // The response waits for flow control because the client never enlarged the window. If the client reads
            // nothing at all, the reset waits too; it is sent once.
            streams[id]?.deadline = nil
            reset(id, .cancel, isComplete: true)
        case .serving, .reset: break
        }
    }

    /// Sends RST_STREAM.
    ///
    /// While the client may still send frames for the stream, the HTTP/2 library keeps it: trailers that were on their
    /// way would otherwise look like a new stream with a number that was used before, which is a connection error.
    private func reset(
        _ id: HTTP2StreamID, _ code: HTTP2ErrorCode, isComplete: Bool, hasSentResponse: Bool = false
    ) {
        if isComplete {
            send(.rstStream(code), on: id)
            context?.flush()
        } else {
            streams[id] = HTTP2Stream(state: .reset(hasSentResponse: hasSentResponse))
            rateLimiter.send(HTTP2FrameBytes.reset(id, code))
            if streams.resetCount >= HTTP2Limits.resetStreams { drain() }
            streamEnded()
        }
    }

    /// Resets a rejected stream at once, so that it holds no memory.
    func forget(_ id: HTTP2StreamID) { reset(id, .noError, isComplete: true) }

    /// Charges an event that does not advance a request: to the client on whose behalf a proxy sent it, or to the
    /// connection if that has a single client.
    ///
    /// - Parameter client: The client behind the proxy; nil if it is unknown or the connection has a single client.
    func charge(_ client: Peer.Address?) {
        if carriesManyClients {
            if let client { loop.proxiedClients.charge(client, now: loop.eventLoop.now) }
        } else if !rateLimiter.charge() {
            fail(.enhanceYourCalm)
        }
    }

    /// Returns whether the client behind a proxy has spent its allowance.
    func isOverAllowance(_ client: @autoclosure () -> Peer.Address?) -> Bool {
        guard carriesManyClients, !loop.proxiedClients.isEmpty, let client = client() else { return false }
        return loop.proxiedClients.isExhausted(client, now: loop.eventLoop.now)
    }

    /// Returns the client whose request an open stream carries, if a trusted proxy reports it.
    func clientOfStream(_ id: HTTP2StreamID) -> Peer.Address? {
        switch streams[id]?.state {
        case .receiving(let request):
            loop.proxiedClient(
                of: FramedRequest(head: request.head, headBytes: request.bytes, body: ByteBuffer()), behind: peer)
        case .serving(_, let framed): loop.proxiedClient(of: framed, behind: peer)
        case .responded, .discarding, .reset, nil: nil
        }
    }
}

extension FramingError {
    /// A body that is longer or shorter than `Content-Length` (RFC 9113, section 8.1.1).
    static let bodyLengthMismatch = FramingError(
        code: .malformedRequest, detail: "a body whose length differs from Content-Length", resetsStream: true)
    /// A request of a client behind a proxy that has aborted too many requests.
    static let tooManyAborts = FramingError(
        code: .rateLimited, detail: "the client has aborted too many requests, or sends bodies in too small pieces")
}
