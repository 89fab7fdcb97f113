internal import Gateway
internal import NIOCore

/// One stream of a connection: a request on its way in, a call that is served, or an answer on its way out.
struct HTTP2Stream {
    /// How far it has come.
    enum State {
        /// The head is complete, and the body is not.
        case receiving(RequestHead, bytes: ByteBuffer, body: ByteBuffer)
        /// The request is with the way of a call.
        case serving(ClientDeparture, omitsBody: Bool)
        /// The answer was written; the stream ends when the client has taken it.
        case answered
    }

    var state: State
    /// When the client must have come to the next state; nil while it is the gateway's turn.
    var deadline: NIODeadline?
}
