internal import Gateway
internal import NIOCore
internal import NIOHTTP2

/// One stream of an HTTP/2 connection.
///
/// - `receiving`: The body is incomplete. → `serving` when the request is complete; → `responded` after a fault of a
///   complete request, `discarding` or `reset` after a fault of an incomplete one.
/// - `serving`: The request pipeline processes the request. → `responded` when the response is written.
/// - `responded`: The response is written but may wait for flow control. The stream is removed when it closes.
/// - `discarding`: The response is written, and the rest of the request is discarded. → `responded` when the client has
///   sent it; → `reset` at the deadline.
/// - `reset`: RST_STREAM is sent. Frames that are on their way are ignored (RFC 9113, section 5.1) until the client
///   ends or resets the stream too. The client counts such a stream no more.
///
/// A stream that the client resets is removed in any state.
struct HTTP2Stream {
    /// The state of the stream.
    enum State {
        /// The head is complete, the body is not.
        case receiving(IncompleteRequest)
        /// The request pipeline processes the request.
        case serving(ClientDisconnect, FramedRequest)
        /// The response is written. The stream closes when the client has received it.
        case responded
        /// The response is written, or waits for flow control. The rest of the request is not needed.
        case discarding(hasSentResponse: Bool)
        /// RST_STREAM is sent. The HTTP/2 library does not know that, so that it ignores no header block.
        case reset(hasSentResponse: Bool)
    }

    var state: State
    /// The time by which the client must act; nil while the gateway must act.
    var deadline: NIODeadline?
    /// The memory of a complete request that waits for admission, or of a response's body that the client has not taken
    /// completely, in bytes.
    var pendingBytes = 0

    /// The received part of a request. It is a class because a head is large and the table of streams has many free
    /// slots.
    final class IncompleteRequest {
        let head: RequestHead
        let bytes: ByteBuffer
        var body = ByteBuffer()

        /// - Parameter isComplete: Whether the request has no body. An incomplete request may be held for long, so the
        ///   unused room of its buffer is released.
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

    /// The memory that counts towards the client's limit, in bytes, except for `pendingBytes`. It is 0 while a call is in
    /// progress, because calls are limited by their number.
    var heldBytes: Int {
        switch state {
        case .receiving(let request): Self.overhead + request.heldBytes
        case .serving: 0
        case .responded, .discarding, .reset: Self.overhead
        }
    }

    /// Whether the stream counts towards the maximum number of concurrent streams.
    var isOpen: Bool {
        switch state {
        case .receiving, .serving, .responded, .discarding: true
        case .reset: false
        }
    }

    /// Whether the request pipeline processes the request of this stream.
    var isServing: Bool {
        if case .serving = state { true } else { false }
    }
}

@available(*, unavailable)
extension HTTP2Stream.IncompleteRequest: Sendable {}

/// The streams of one connection and the memory that they hold.
struct HTTP2Streams {
    /// The memory of one place in the tables of streams: the one below and two of the HTTP/2 library. Measured:
    /// 172 bytes.
    static let placeBytes = 192
    /// The number of places that the tables of a new connection have. They are a part of an idle connection.
    static let initialPlaces = 16

    private var streams: [HTTP2StreamID: HTTP2Stream] = [:]
    /// The memory of the streams themselves, in bytes.
    private var streamBytes = 0
    /// The memory of requests that wait for admission and of bodies that the client has not taken, in bytes.
    private(set) var pendingBytes = 0
    /// The number of places in the tables. The tables of the library never shrink.
    private var places = HTTP2Streams.initialPlaces

    /// Returns the memory of incomplete requests and of streams with responses in transit, in bytes, as counted by
    /// ``RequestMemory``. `pendingBytes` count separately.
    ///
    /// Tables and buffers that have grown are included, but not with more than the streams: a connection with large
    /// tables and few streams is like an idle one, which does not count.
    ///
    /// - Parameter buffers: The memory of the connection's grown buffers.
    func heldBytes(buffers: Int = 0) -> Int {
        let tables = places > Self.initialPlaces ? places * Self.placeBytes : 0
        return streamBytes + min(streamBytes, tables + buffers)
    }

    /// The number of open streams.
    private(set) var openCount = 0
    /// The number of streams that were reset while the client may still send frames for them.
    var resetCount: Int { streams.count - openCount }
    var values: some Sequence<HTTP2Stream> { streams.values }
    /// Returns the streams whose deadline has passed.
    func overdue(_ now: NIODeadline) -> [(key: HTTP2StreamID, value: HTTP2Stream)] {
        streams.filter { $0.value.deadline.map { $0 <= now } ?? false }.map { ($0.key, $0.value) }
    }

    subscript(id: HTTP2StreamID) -> HTTP2Stream? {
        get { streams[id] }
        set {
            let old = newValue.map { streams.updateValue($0, forKey: id) } ?? streams.removeValue(forKey: id)
            streamBytes += (newValue?.heldBytes ?? 0) - (old?.heldBytes ?? 0)
            pendingBytes += (newValue?.pendingBytes ?? 0) - (old?.pendingBytes ?? 0)
            openCount += (newValue?.isOpen == true ? 1 : 0) - (old?.isOpen == true ? 1 : 0)
            // The library doubles a table before its last place is used.
            while streams.count >= places { places *= 2 }
            // An idle connection need not keep a large table.
            if streams.isEmpty, places > Self.initialPlaces { streams = [:] }
        }
    }

    /// Appends data to the body of a request in this table.
    mutating func append(_ piece: ByteBuffer, to request: HTTP2Stream.IncompleteRequest) {
        let before = request.heldBytes
        request.body.writeImmutableBuffer(piece)
        streamBytes += request.heldBytes - before
    }

    /// The stream that started last of those whose response the client has not taken; nil if there is none. The client
    /// has sent the complete request, so the stream can be reset.
    var newestUnread: HTTP2StreamID? { newestPending { if case .responded = $0 { true } else { false } } }

    /// The stream that started last of those whose call waits for admission; nil if there is none.
    var newestWaiting: HTTP2StreamID? { newestPending { if case .serving = $0 { true } else { false } } }

    private func newestPending(in isState: (HTTP2Stream.State) -> Bool) -> HTTP2StreamID? {
        var newest: HTTP2StreamID?
        for (id, stream) in streams where stream.pendingBytes > 0 && newest.map({ $0 < id }) ?? true {
            if isState(stream.state) { newest = id }
        }
        return newest
    }

    /// Returns the incomplete request that started last.
    ///
    /// - Parameter spared: A stream that is not considered; nil considers all.
    func newestIncomplete(
        except spared: HTTP2StreamID? = nil
    ) -> (id: HTTP2StreamID, request: HTTP2Stream.IncompleteRequest)? {
        var newest: (id: HTTP2StreamID, request: HTTP2Stream.IncompleteRequest)?
        for (id, stream) in streams where id != spared {
            if case .receiving(let request) = stream.state, newest.map({ $0.id < id }) ?? true {
                newest = (id, request)
            }
        }
        return newest
    }
}
