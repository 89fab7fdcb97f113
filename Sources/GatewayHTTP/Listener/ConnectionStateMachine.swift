internal import GatewayCore
internal import NIOCore

/// Decides what a connection does next: one request after the other, one answer each, and an end that the client can see.
///
/// A value; the channel handler tells it what happened and carries out what it says.
struct ConnectionStateMachine {
    /// What to do now.
    enum Action {
        /// Nothing, until something happens.
        case wait
        /// Write `100 Continue`, and ask again.
        case sendContinue
        /// Serve the request, report `answering()`, and ask again.
        case serve(FramedRequest)
        /// Write the one answer to what is no request; the connection ends after it.
        case reject(FramingError, omitsBody: Bool)
        /// Close the connection at once.
        case close
    }

    /// Which deadline runs. A new one starts whenever the value changes.
    enum Deadline: Equatable {
        case none
        case firstByte
        case lastChance
        case idle(answered: Int)
        case head(answered: Int)
        case body(answered: Int)
        case lastAnswer
        case linger
    }

    private enum State {
        /// Between requests or within one.
        case reading
        /// A request is with the way of a call.
        case serving(ResponseContext)
        /// The last answer is on its way out.
        case concluding
        /// The last answer is out, and our side closed; what still comes is thrown away.
        case lingering
    }

    /// What of a request's head decides how its answer is written.
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

    /// The most bytes that are thrown away while lingering.
    private static let lingerBytes = 256 * 1024

    private var framer: RequestFramer
    private var state = State.reading
    private var answered = 0
    private var discardedBytes = 0
    private var inputClosed = false
    private var isDraining = false
    private var isLeaving = false

    /// - Parameter trustedProxy: by what the peer is believed; nil where it is not.
    init(limits: ListenerConfiguration.Limits, trustedProxy source: TrustedProxies.Source? = nil) {
        framer = RequestFramer(limits: limits, trustedProxy: source)
    }

    /// Whether more bytes are of use: not while a call is served and the next request has begun to arrive.
    var wantsBytes: Bool {
        if case .serving = state { return framer.bufferedBytes == 0 }
        return true
    }

    /// The deadline that runs now.
    var deadline: Deadline {
        switch state {
        case .serving: .none
        case .concluding: .lastAnswer
        case .lingering: .linger
        case .reading:
            switch framer.progress {
            case .untouched: answered > 0 ? .idle(answered: answered) : isDraining ? .lastChance : .firstByte
            case .head: .head(answered: answered)
            case .body: .body(answered: answered)
            }
        }
    }

    /// The memory that a request holds which is not complete.
    var heldBytes: Int {
        switch state {
        case .reading: framer.heldBytes
        case .serving, .concluding, .lingering: 0
        }
    }

    /// The request that is being read is refused: there is no memory for it.
    mutating func reject(_ fault: FramingError) -> Action {
        state = .concluding
        framer.reject(fault)
        return .reject(fault, omitsBody: framer.isHead)
    }

    /// Bytes came. `next()` says what they amount to.
    mutating func received(_ bytes: ByteBuffer) {
        switch state {
        case .reading, .serving: framer.feed(bytes)
        case .concluding, .lingering: discardedBytes += bytes.readableBytes
        }
    }

    /// The client will send no more; it may still wait for answers.
    mutating func closedInput() { inputClosed = true }

    /// The next answer is the last one, and says so.
    mutating func announceEnd() { isLeaving = true }

    /// The connection shall end as soon as nothing of a request is in it.
    mutating func drain() { isDraining = true }

    /// What to do now; to be asked after every event, and after every action but `wait` and `close`.
    mutating func next() -> Action {
        switch state {
        case .serving:
            return .wait
        case .concluding:
            return discardedBytes > Self.lingerBytes ? .close : .wait
        case .lingering:
            return inputClosed || discardedBytes > Self.lingerBytes ? .close : .wait
        case .reading:
            // A new connection was made for a request, which may be on its way; a kept one has been told by its last answer.
            if isDraining, framer.progress == .untouched, answered > 0 { return .close }
            switch framer.next() {
            case .needMore:
                // Half a request that will never be whole has no one to be answered.
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

    /// The answer to the served request is there; says how to write it, nil where none is awaited.
    mutating func answering() -> ResponseWriter.Framing? {
        guard case .serving(let request) = state else { return nil }
        answered += 1
        let isLast = !request.keepsAlive || isDraining || isLeaving || (inputClosed && framer.bufferedBytes == 0)
        state = isLast ? .concluding : .reading
        return ResponseWriter.Framing(
            omitsBody: request.omitsBody, connection: isLast ? .closed : request.isVersion11 ? .kept : .keptExplicitly)
    }

    /// Whether the answer just written is the last one.
    var isConcluding: Bool {
        if case .concluding = state { true } else { false }
    }

    /// Whether nothing more will be answered.
    var isEnding: Bool {
        switch state {
        case .concluding, .lingering: true
        case .reading, .serving: false
        }
    }

    /// The last answer has left. Says whether there is still a client to wait for.
    mutating func concluded() -> Bool {
        guard isConcluding else { return false }
        state = .lingering
        return !inputClosed
    }

    /// The running deadline has passed.
    mutating func deadlinePassed() -> Action {
        switch deadline {
        case .none: return .wait
        case .firstByte, .lastChance, .idle, .lastAnswer, .linger: return .close
        case .head, .body:
            state = .concluding
            let part = framer.progress == .body ? "the body did not come in time" : "the head did not come in time"
            return .reject(FramingError(code: .requestTimeout, detail: part), omitsBody: framer.isHead)
        }
    }
}
