internal import NIOCore
internal import NIOHTTP2

/// The streams of one connection that have not ended, and the memory that the client holds by them.
struct HTTP2Streams {
    private var streams: [HTTP2StreamID: HTTP2Stream] = [:]
    /// The bytes of incomplete requests and of answers that are on their way, as they are counted by ``RequestMemory``.
    private(set) var heldBytes = 0

    var isEmpty: Bool { streams.isEmpty }
    var values: some Sequence<HTTP2Stream> { streams.values }
    /// Those whose deadline is over.
    func overdue(_ now: NIODeadline) -> [(key: HTTP2StreamID, value: HTTP2Stream)] {
        streams.filter { $0.value.deadline.map { $0 <= now } ?? false }.map { ($0.key, $0.value) }
    }

    subscript(id: HTTP2StreamID) -> HTTP2Stream? {
        get { streams[id] }
        set {
            let old = newValue.map { streams.updateValue($0, forKey: id) } ?? streams.removeValue(forKey: id)
            heldBytes += (newValue?.heldBytes ?? 0) - (old?.heldBytes ?? 0)
        }
    }

    /// Adds a piece to the body of a request that is in here.
    mutating func append(_ piece: ByteBuffer, to request: HTTP2Stream.IncompleteRequest) {
        let before = request.heldBytes
        request.body.writeImmutableBuffer(piece)
        heldBytes += request.heldBytes - before
    }

    /// The request that has begun last of those that are not complete.
    var newestIncomplete: (id: HTTP2StreamID, request: HTTP2Stream.IncompleteRequest)? {
        var newest: (id: HTTP2StreamID, request: HTTP2Stream.IncompleteRequest)?
        for (id, stream) in streams {
            if case .receiving(let request) = stream.state, newest.map({ $0.id < id }) ?? true {
                newest = (id, request)
            }
        }
        return newest
    }
}
