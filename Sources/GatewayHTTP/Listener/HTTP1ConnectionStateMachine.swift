internal import GatewayCore
internal import NIOCore

/// The state machine of an HTTP/1.1 server connection. Requests are served one at a time, in order.
///
/// It does not touch the channel: `HTTP1ConnectionHandler` reports events and performs the returned actions.
///
/// - `reading`: Waits for a request or receives one. → `serving` with a complete request; → `concluding` after a fault
///   or a timeout; or the connection closes.
/// - `serving`: The request pipeline processes a request. When the response is written, → `concluding` if it is the
///   last one, → `pipelined` if bytes of the next request have arrived, → `reading` otherwise.
/// - `pipelined`: The next request waits for the connection's turn. → `reading` in that turn.
/// - `concluding`: The last response is being written and input is discarded. → `lingering` when it is written; or the
///   connection closes if the client sends too much or the deadline expires.
/// - `lingering`: The output is closed and input is discarded until the client closes, sends too much, or the deadline
///   expires. The connection then closes.
struct HTTP1ConnectionStateMachine {
    /// The action that the handler performs.
    enum Action {
        /// Do nothing until the next event.
        case wait
        /// Write `100 Continue` and call `next()` again.
        case sendContinue
        /// Serve the request, report the response with `completeRequest()`, and call `next()` again.
        case serve(FramedRequest)
        /// Report the connection's next turn with `beginTurn()`, and call `next()` again.
        case awaitTurn
        /// Write the response to an invalid request. It is the last one of the connection.
        case reject(FramingError, omitsBody: Bool)
        /// Close the connection at once.
        case close
    }

    /// The deadline that currently applies. The timer restarts whenever the value changes.
    enum Deadline: Equatable {
        /// A call is in progress, and the gateway must act.
        case none
        /// For the first byte on a new connection.
        case firstByte
        /// For the first byte on a new connection of a listener that drains.
        case firstByteWhileDraining
        /// For the first byte of the next request after this number of responses.
        case idle(responseCount: Int)
        /// For the end of the head.
        case head(responseCount: Int)
        /// For the end of the body.
        case body(responseCount: Int)
        /// For the client to read the last response.
        case lastResponse
        /// For the client to close its side after the last response.
        case linger
    }

    private enum State {
        /// No request is in progress, or one is being received.
        case reading
        /// The request pipeline processes a request.
        case serving(ResponseContext)
        /// The next request has arrived, at least in part, and waits for the connection's turn.
        case pipelined(isQueued: Bool)
        /// The last response is being written.
        case concluding
        /// The last response is written and the output is closed. Input is discarded.
        case lingering
    }

    /// The properties of a request that affect its response.
    private struct ResponseContext {
        let omitsBody: Bool
        let keepsAlive: Bool
        let isVersion11: Bool

        init(_ head: borrowing RequestHead) {
            omitsBody = head.isHead
            keepsAlive = head.keepsAlive
            isVersion11 = head.isVersion11
        }
    }

    /// The maximum number of bytes that are discarded in `concluding` and `lingering` together.
    private static let maximumDiscardedBytes = 256 * 1024

    private var framer: RequestFramer
    private var state = State.reading
    /// The number of responses.
    private var responseCount = 0
    private var discardedBytes = 0
    private var inputClosed = false
    private var isDraining = false
    private var announcesClose = false

    /// Creates the state machine of a new connection.
    ///
    /// - Parameter trustedProxy: The source of client addresses if the peer is a trusted proxy; nil if it is not.
    init(limits: ListenerConfiguration.Limits, trustedProxy source: TrustedProxies.Source? = nil) {
        framer = RequestFramer(limits: limits, trustedProxy: source)
    }

    /// Whether the handler should read from the socket. False while a call is in progress, or waits for its turn, and
    /// further bytes are buffered.
    var wantsBytes: Bool {
        switch state {
        case .serving, .pipelined: framer.bufferedBytes == 0
        case .reading, .concluding, .lingering: true
        }
    }

    /// The deadline that applies to the current state.
    var deadline: Deadline {
        switch state {
        case .serving, .pipelined: .none
        case .concluding: .lastResponse
        case .lingering: .linger
        case .reading:
            switch framer.progress {
            case .untouched:
                responseCount > 0
                    ? .idle(responseCount: responseCount) : isDraining ? .firstByteWhileDraining : .firstByte
            case .head: .head(responseCount: responseCount)
            case .body: .body(responseCount: responseCount)
            }
        }
    }

    /// The memory that an incomplete request holds, in bytes.
    var heldBytes: Int {
        switch state {
        case .reading: framer.heldBytes
        case .serving, .pipelined, .concluding, .lingering: 0
        }
    }

    /// Rejects the incomplete request because it exceeds the memory limit.
    mutating func reject(_ fault: FramingError) -> Action {
        state = .concluding
        framer.reject(fault)
        return .reject(fault, omitsBody: framer.isHead)
    }

    /// Processes received bytes. Call `next()` afterwards.
    mutating func received(_ bytes: ByteBuffer) {
        switch state {
        case .reading, .serving, .pipelined: framer.feed(bytes)
        case .concluding, .lingering: discardedBytes += bytes.readableBytes
        }
    }

    /// Records that the client has closed its output. It may still wait for responses.
    mutating func closedInput() { inputClosed = true }

    /// Makes the next response the last one. It then contains `Connection: close`.
    mutating func announceShutdown() { announcesClose = true }

    /// Starts draining: the connection closes as soon as no request is in progress.
    mutating func drain() { isDraining = true }

    /// Begins the turn that the action `awaitTurn` has requested.
    mutating func beginTurn() {
        if case .pipelined = state { state = .reading }
    }

    /// Returns the next action. Call it after every event, and after every action except `wait` and `close`.
    mutating func next() -> Action {
        switch state {
        case .serving, .pipelined(isQueued: true):
            return .wait
        case .pipelined(isQueued: false):
            state = .pipelined(isQueued: true)
            return .awaitTurn
        case .concluding:
            return discardedBytes > Self.maximumDiscardedBytes ? .close : .wait
        case .lingering:
            return inputClosed || discardedBytes > Self.maximumDiscardedBytes ? .close : .wait
        case .reading:
            // An unused connection stays open for `firstByteWhileDraining`, because its first request may be on its way.
            if isDraining, framer.progress == .untouched, responseCount > 0 { return .close }
            switch framer.next() {
            case .needMore:
                // An incomplete request at the end of the input gets no response.
                return inputClosed ? .close : .wait
            case .continueExpected:
                return .sendContinue
            case .request(let request):
                state = .serving(ResponseContext(request.head))
                return .serve(request)
            case .fault(let fault):
                state = .concluding
                return .reject(fault, omitsBody: framer.isHead)
            }
        }
    }

    /// Completes the request in progress. Returns the framing of its response; nil if no request is in progress.
    mutating func completeRequest() -> ResponseWriter.Framing? {
        guard case .serving(let request) = state else { return nil }
        responseCount += 1
        let isLast = !request.keepsAlive || isDraining || announcesClose || (inputClosed && framer.bufferedBytes == 0)
        state = isLast ? .concluding : framer.bufferedBytes > 0 ? .pipelined(isQueued: false) : .reading
        return ResponseWriter.Framing(
            omitsBody: request.omitsBody, connection: isLast ? .closed : request.isVersion11 ? .kept : .keptExplicitly)
    }

    /// Whether the last response is being written.
    var isConcluding: Bool {
        if case .concluding = state { true } else { false }
    }

    /// Whether no further request will be served.
    var isFinishing: Bool {
        switch state {
        case .concluding, .lingering: true
        case .reading, .serving, .pipelined: false
        }
    }

    /// Records that the last response is written. Returns whether the client still has to close its side.
    mutating func concluded() -> Bool {
        guard isConcluding else { return false }
        state = .lingering
        return !inputClosed
    }

    /// Returns the action for an expired deadline.
    mutating func deadlinePassed() -> Action {
        switch deadline {
        case .none: return .wait
        case .firstByte, .firstByteWhileDraining, .idle, .lastResponse, .linger: return .close
        case .head, .body:
            state = .concluding
            let part = framer.progress == .body ? "the body did not arrive in time" : "the head did not arrive in time"
            return .reject(FramingError(code: .requestTimeout, detail: part), omitsBody: framer.isHead)
        }
    }
}
