internal import GatewayCore
internal import NIOCore

/// Cuts a connection's bytes into requests: the security boundary between what a peer sends and what the gateway reads.
///
/// A value without sockets and clocks. Bytes are fed in, events are taken out; the events depend on the bytes alone, never
/// on how they were split. After a fault it yields nothing but that fault.
struct RequestFramer {
    /// What the bytes so far amount to.
    enum Event {
        /// Not enough for anything.
        case needMore
        /// The head is complete, a body follows, and the client waits for leave to send it. At most once a request.
        case continueExpected
        /// A request is complete.
        case request(FramedRequest)
        /// The bytes are no request; nothing after them means anything.
        case fault(FramingError)
    }

    /// How far the request that is being read has come.
    enum Progress {
        /// Nothing of it is there, but for empty lines.
        case untouched
        /// Some of its head is there.
        case head
        /// Its head is complete.
        case body
    }

    private enum Stage {
        case requestLine, fields, body(length: Int), chunks, faulted(FramingError)
    }

    private let limits: ListenerConfiguration.Limits
    private let source: TrustedProxies.Source?
    private var buffer = ByteBuffer()
    private var stage = Stage.requestLine
    private var line = RequestLineParser()
    private var fields = FieldParser(startingAt: 0, bytes: 0, count: 0)
    private var head: RequestHead
    private var headBytes = ByteBuffer()
    private var chunks = ChunkedDecoder(bodyLimit: 0, trailerLimit: 0, trailerCount: 0)
    private var chunkedBody = ByteBuffer()

    /// - Parameter trustedProxy: by what the peer is believed; nil where it is not.
    init(limits: ListenerConfiguration.Limits, trustedProxy source: TrustedProxies.Source? = nil) {
        self.limits = limits
        self.source = source
        head = RequestHead(trustedProxy: source)
    }

    /// Bytes that no request has taken yet.
    var bufferedBytes: Int { buffer.readableBytes }

    /// The memory that they take.
    var bufferCapacity: Int { buffer.storageCapacity }

    /// The memory that an incomplete request holds. Head and body may share some, which then counts twice.
    var heldBytes: Int { buffer.storageCapacity + headBytes.storageCapacity + chunkedBody.storageCapacity }

    /// Whether the request that is being read is known to be HEAD.
    var isHead: Bool { head.isHead }

    /// How far the request that is being read has come.
    var progress: Progress {
        switch stage {
        case .requestLine: line.hasBegun || buffer.readableBytes > line.index ? .head : .untouched
        case .fields: .head
        case .body, .chunks: .body
        case .faulted: .untouched
        }
    }

    /// Takes bytes as they came from the peer, in order.
    mutating func feed(_ bytes: ByteBuffer) {
        if case .faulted = stage { return }
        if buffer.readableBytes == 0 {
            buffer = bytes
        } else {
            // Requests that were taken would else be carried along for as long as the client leaves half of one behind.
            buffer.discardReadBytes()
            buffer.writeImmutableBuffer(bytes)
        }
    }

    /// What the bytes amount to; to be asked again after every event but `needMore` and `fault`.
    mutating func next() -> Event {
        do throws(FramingError) {
            return try advance()
        } catch {
            reject(error)
            return .fault(error)
        }
    }

    /// Lets go of what has come: the request is refused, and nothing after it means anything.
    mutating func reject(_ fault: FramingError) {
        stage = .faulted(fault)
        buffer = ByteBuffer()
        headBytes = ByteBuffer()
        chunkedBody = ByteBuffer()
    }

    private mutating func advance() throws(FramingError) -> Event {
        switch stage {
        case .requestLine:
            let bytes = buffer
            guard try line.advance(over: bytes.readableBytesUInt8Span, limit: limits.requestLine, into: &head) else {
                return .needMore
            }
            fields = FieldParser(startingAt: line.index, bytes: limits.headerBlock, count: limits.fields)
            stage = .fields
            return try advanceFields()
        case .fields:
            return try advanceFields()
        case .body(let length):
            guard let body = buffer.readSlice(length: length) else { return .needMore }
            return finish(body: body)
        case .chunks:
            guard try chunks.decode(&buffer, into: &chunkedBody) else { return .needMore }
            return finish(body: chunkedBody)
        case .faulted(let fault):
            throw fault
        }
    }

    private mutating func advanceFields() throws(FramingError) -> Event {
        guard try readFields(buffer) else { return .needMore }
        // The parser has looked at exactly these bytes.
        headBytes = buffer.readSlice(length: fields.index) ?? ByteBuffer()
        if head.isChunked {
            chunks = ChunkedDecoder(
                bodyLimit: limits.body, trailerLimit: limits.headerBlock, trailerCount: limits.fields)
            stage = .chunks
        } else {
            stage = .body(length: head.contentLength ?? 0)
        }
        // RFC 9110, section 10.1.1: the expectation of an HTTP/1.0 request is ignored.
        if head.hasBody, head.expectation == .continueFirst, head.isVersion11 { return .continueExpected }
        return try advance()
    }

    // Says whether the head is complete.
    private mutating func readFields(_ buffer: ByteBuffer) throws(FramingError) -> Bool {
        let bytes = buffer.readableBytesUInt8Span
        while true {
            switch try fields.next(in: bytes) {
            case .incomplete: return false
            case .field(let line): try head.process(line, in: bytes)
            case .end:
                try head.check(bodyLimit: limits.body, in: bytes)
                return true
            }
        }
    }

    private mutating func finish(body: ByteBuffer) -> Event {
        let request = FramedRequest(head: head, headBytes: headBytes, body: body)
        // Nothing of a finished request keeps its memory but the request itself.
        if buffer.readableBytes == 0 { buffer = ByteBuffer() }
        headBytes = ByteBuffer()
        chunkedBody = ByteBuffer()
        head = RequestHead(trustedProxy: source)
        line = RequestLineParser()
        stage = .requestLine
        return .request(request)
    }
}
