internal import NIOCore
internal import NIOHTTP2

/// The open streams of one connection and the memory that they hold.
struct HTTP2Streams {
    private var streams: [HTTP2StreamID: HTTP2Stream] = [:]
    /// The memory of incomplete requests and of responses in transit, in bytes, as counted by ``RequestMemory``.
    private(set) var heldBytes = 0

    var isEmpty: Bool { streams.isEmpty }
    var values: some Sequence<HTTP2Stream> { streams.values }
    /// Returns the streams whose deadline has passed.
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

    /// Appends data to the body of a request in this table.
    mutating func append(_ piece: ByteBuffer, to request: HTTP2Stream.IncompleteRequest) {
        let before = request.heldBytes
        request.body.writeImmutableBuffer(piece)
        heldBytes += request.heldBytes - before
    }

    /// The incomplete request that started last.
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
