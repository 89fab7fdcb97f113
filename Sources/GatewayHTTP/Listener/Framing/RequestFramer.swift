internal import GatewayCore
internal import NIOCore

/// An incremental HTTP/1.1 request parser. It is the security boundary between the bytes of a peer and the gateway.
///
/// It does not touch sockets or clocks. The caller feeds bytes and reads events. The events depend only on the bytes,
/// never on how they were split.
///
/// Stages, each with its successors: `requestLine` → `fields` → `body` or `chunks` → `requestLine` of the next request.
/// Every stage can change to `faulted`, which is final and yields only its fault.
struct RequestFramer {
    /// The result of the bytes received so far.
    enum Event {
        /// More bytes are needed.
        case needMore
        /// The head is complete and the client waits for `100 Continue` before it sends the body. Occurs at most once
        /// for each request.
        case continueExpected
        /// A request is complete.
        case request(FramedRequest)
        /// The bytes are not a valid request. Later bytes are not interpreted.
        case fault(FramingError)
    }

    /// The progress of the current request.
    enum Progress {
        /// No byte of the request has arrived, except for empty lines, or the parser has stopped with a fault.
        case untouched
        /// The head is incomplete.
        case head
        /// The head is complete, the body is not.
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

    /// Creates a parser for the requests of one connection.
    ///
    /// - Parameter trustedProxy: How the proxy reports the client's address (a header field or the PROXY protocol) if
    ///   the peer is a trusted proxy; nil if it is not.
    init(limits: ListenerConfiguration.Limits, trustedProxy source: TrustedProxies.Source? = nil) {
        self.limits = limits
        self.source = source
        head = RequestHead(trustedProxy: source)
    }

    /// The number of bytes that no request has consumed yet.
    var bufferedBytes: Int { buffer.readableBytes }

    /// The allocated size of the buffer for those bytes. Tests read it to check that a large request leaves none.
    var bufferCapacity: Int { buffer.storageCapacity }

    /// The memory that an incomplete request holds, in bytes. A buffer that head and body share counts twice, so
    /// the number is an upper bound.
    var heldBytes: Int { buffer.storageCapacity + headBytes.storageCapacity + chunkedBody.storageCapacity }

    /// Whether the current request is known to be HEAD.
    var isHead: Bool { head.isHead }

    /// The progress of the current request.
    var progress: Progress {
        switch stage {
        case .requestLine: line.hasBegun || buffer.readableBytes > line.index ? .head : .untouched
        case .fields: .head
        case .body, .chunks: .body
        case .faulted: .untouched
        }
    }

    /// Appends bytes from the peer, in order.
    mutating func feed(_ bytes: ByteBuffer) {
        if case .faulted = stage { return }
        if buffer.readableBytes == 0 {
            buffer = bytes
        } else {
            // Without this, the buffer would keep the bytes of completed requests while the next one is incomplete.
            buffer.discardReadBytes()
            buffer.writeImmutableBuffer(bytes)
        }
    }

    /// Returns the next event. Call it again after every event except `needMore` and `fault`.
    mutating func next() -> Event {
        do throws(FramingError) {
            return try advance()
        } catch {
            reject(error)
            return .fault(error)
        }
    }

    /// Stops parsing with the given fault and releases all memory. The framer yields only this fault from now on.
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
        // The parser has consumed exactly these bytes.
        headBytes = buffer.readSlice(length: fields.index) ?? ByteBuffer()
        if head.isChunked {
            chunks = ChunkedDecoder(
                bodyLimit: limits.body, trailerLimit: limits.headerBlock, trailerCount: limits.fields)
            stage = .chunks
        } else {
            stage = .body(length: head.contentLength ?? 0)
        }
        // The expectation of an HTTP/1.0 request is ignored (RFC 9110, section 10.1.1).
        if head.hasBody, head.expectation == .continue100, head.isVersion11 { return .continueExpected }
        return try advance()
    }

    // Returns whether the head is complete.
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
        // Release all memory except that of the request itself.
        if buffer.readableBytes == 0 { buffer = ByteBuffer() }
        headBytes = ByteBuffer()
        chunkedBody = ByteBuffer()
        head = RequestHead(trustedProxy: source)
        line = RequestLineParser()
        stage = .requestLine
        return .request(request)
    }
}
