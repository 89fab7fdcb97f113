internal import Gateway
internal import NIOCore

/// One stream of a connection: a request on its way in, a call that is served, or an answer on its way out.
struct HTTP2Stream {
    /// How far it has come.
    enum State {
        /// The head is complete, and the body is not.
        case receiving(IncompleteRequest)
        /// The request is with the way of a call.
        case serving(ClientDisconnect, omitsBody: Bool)
        /// The answer was written; the stream ends when the client has taken it.
        case answered
    }

    var state: State
    /// When the client must have come to the next state; nil while it is the gateway's turn.
    var deadline: NIODeadline?

    /// What has come of a request. By reference: a head is large, and a table of streams has many free places.
    final class IncompleteRequest {
        let head: RequestHead
        let bytes: ByteBuffer
        var body = ByteBuffer()

        init(_ reader: HTTP2RequestReader) {
            head = reader.head
            bytes = reader.bytes
        }

        /// The memory that it holds.
        var heldBytes: Int { bytes.storageCapacity + body.storageCapacity }
    }

    /// What an open stream takes beside its bytes, here and in the frames' own handler: measured as 1.0 to 1.5 KiB.
    static let overhead = 2048

    /// The memory that the client holds by it, counted generously. Calls that are served are bounded by their number.
    var heldBytes: Int {
        switch state {
        case .receiving(let request): Self.overhead + request.heldBytes
        case .serving: 0
        case .answered: Self.overhead
        }
    }
}

@available(*, unavailable)
extension HTTP2Stream.IncompleteRequest: Sendable {}
