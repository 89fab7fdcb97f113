internal import Gateway
internal import NIOCore

/// One stream of an HTTP/2 connection.
///
/// - `receiving`: The body is incomplete. → `serving` when the request is complete; → `answered` after a fault.
/// - `serving`: The request pipeline processes the request. → `answered` when the response is written.
/// - `answered`: The response is written but may wait for flow control. The stream is removed when it closes.
///
/// A stream that the client resets is removed in any state.
struct HTTP2Stream {
    /// The state of the stream.
    enum State {
        /// The head is complete, the body is not.
        case receiving(IncompleteRequest)
        /// The request pipeline processes the request.
        case serving(ClientDisconnect, omitsBody: Bool)
        /// The response is written. The stream closes when the client has received it.
        case answered
    }

    var state: State
    /// The time by which the client must act; nil while the gateway must act.
    var deadline: NIODeadline?

    /// The received part of a request. It is a class because a head is large and the table of streams has many free
    /// slots.
    final class IncompleteRequest {
        let head: RequestHead
        let bytes: ByteBuffer
        var body = ByteBuffer()

        /// - Parameter isComplete: Whether the request has no body. An incomplete request may be held for long, so the
        ///   spare room of its buffer is released.
        init(_ reader: HTTP2RequestReader, isComplete: Bool) {
            head = reader.head
            let read = reader.bytes
            bytes =
                isComplete || read.readableBytes * 2 > read.storageCapacity
                ? read : ByteBuffer(bytes: read.readableBytesView)
        }

        /// The allocated memory in bytes.
        var heldBytes: Int { bytes.storageCapacity + body.storageCapacity }
    }

    /// The memory of an open stream besides its bytes and its places in the tables of ``HTTP2Streams``, in this module
    /// and in the HTTP/2 library. Measured: 510 bytes, and up to half as much again for the allocator.
    static let overhead = 768

    /// The memory that counts towards the client's limit, in bytes. It is 0 while a call is in progress, because calls
    /// are limited by their number.
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
