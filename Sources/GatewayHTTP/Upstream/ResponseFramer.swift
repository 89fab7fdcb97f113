package import Gateway
internal import GatewayCore
package import NIOCore

/// A strict, incremental parser for one HTTP/1.1 response. It does not touch sockets or clocks.
///
/// It determines exactly where the response ends. Bytes after the end, in the same call, make the connection unusable
/// and never become part of another response.
///
/// Stages, each with its successors: `statusLine` → `fields`; `fields` → `statusLine` after an interim response, else
/// `body`, `chunks` or `untilClose`. The last three complete the response. Every stage can change to `abandoned`, which
/// is final and yields nothing.
package struct ResponseFramer {
    /// The result of the bytes received so far.
    package enum Event {
        /// The response is incomplete.
        case needMore
        /// The response is complete. `isReusable` is whether the connection may carry another request.
        case response(BackendResponse, isReusable: Bool)
        /// The bytes are not a valid response.
        case fault(FramingError)
    }

    private enum Stage {
        case statusLine, fields(ResponseHead), body(length: Int), chunks, untilClose, abandoned
    }

    private static let maximumStatusLineBytes = 8 * 1024
    private static let maximumHeaderBytes = 16 * 1024
    private static let maximumHeaderFields = 100
    private static let maximumInterimResponses = 8

    /// Whether any byte was received.
    private(set) var hasBegun = false
    private let bodyLimit: Int
    private var buffer = ByteBuffer()
    private var stage = Stage.statusLine
    private var scanned = 0
    private var interimCount = 0
    private var fields = FieldParser(startingAt: 0, bytes: 0, count: 0)
    private var keepsAlive = false
    private var response = BackendResponse(status: 0)
    private var chunks: ChunkedDecoder

    /// Creates a parser for one response.
    ///
    /// - Parameter bodyLimit: The maximum length of the body, in bytes.
    package init(bodyLimit: Int) {
        self.bodyLimit = bodyLimit
        self.chunks = ChunkedDecoder(
            bodyLimit: bodyLimit, trailerLimit: Self.maximumHeaderBytes, trailerCount: Self.maximumHeaderFields)
    }

    /// Processes received bytes and returns the result so far. Must not be called again after `.response`: the caller
    /// closes a connection on which later bytes arrive.
    package mutating func receive(_ bytes: ByteBuffer) -> Event {
        hasBegun = hasBegun || bytes.readableBytes > 0
        if buffer.readableBytes == 0 {
            buffer = bytes
        } else {
            buffer.writeImmutableBuffer(bytes)
        }
        do throws(FramingError) {
            return try advance()
        } catch {
            abandon()
            return .fault(error)
        }
    }

    /// Discards the response. Every later call returns `.needMore`.
    mutating func abandon() { stage = .abandoned }

    /// Processes the end of the connection. Returns `.response` if the end delimits the body; otherwise `.needMore`:
    /// the response is truncated.
    package mutating func receiveEnd() -> Event {
        guard case .untilClose = stage else { return .needMore }
        response.body = buffer
        return .response(response, isReusable: false)
    }

    private mutating func advance() throws(FramingError) -> Event {
        while true {
            switch stage {
            case .statusLine:
                guard try readStatusLine(buffer) else { return .needMore }
            case .fields(let head):
                guard try readFields(buffer, head) else { return .needMore }
            case .body(let length):
                guard let body = buffer.readSlice(length: length) else { return .needMore }
                response.body = body
                return finish()
            case .chunks:
                guard try chunks.decode(&buffer, into: &response.body) else { return .needMore }
                return finish()
            case .untilClose:
                guard buffer.readableBytes <= bodyLimit else {
                    throw FramingError(code: .backendFailed, detail: "the response body is too long")
                }
                return .needMore
            case .abandoned:
                return .needMore
            }
        }
    }

    private func finish() -> Event {
        .response(response, isReusable: keepsAlive && buffer.readableBytes == 0)
    }

    private mutating func readStatusLine(_ buffer: ByteBuffer) throws(FramingError) -> Bool {
        let bytes = buffer.readableBytesUInt8Span
        let end = min(bytes.count, Self.maximumStatusLineBytes)
        while scanned < end, bytes[scanned] != .lineFeed { scanned += 1 }
        guard scanned < end else {
            if end == Self.maximumStatusLineBytes { throw .malformed("a status line that is too long") }
            return false
        }
        guard scanned > 0, bytes[scanned - 1] == .carriageReturn else { throw .malformed("a status line without CR") }
        let head = try ResponseHead(statusLine: 0..<scanned - 1, in: bytes)
        fields = FieldParser(startingAt: scanned + 1, bytes: Self.maximumHeaderBytes, count: Self.maximumHeaderFields)
        stage = .fields(head)
        return true
    }

    private mutating func readFields(_ buffer: ByteBuffer, _ head: ResponseHead) throws(FramingError) -> Bool {
        let bytes = buffer.readableBytesUInt8Span
        var head = head
        loop: while true {
            switch try fields.next(in: bytes) {
            case .incomplete:
                stage = .fields(head)
                return false
            case .field(let line): try head.process(line, in: bytes)
            case .end: break loop
            }
        }
        try head.check(bodyLimit: bodyLimit)
        response.status = head.status
        response.location = head.location
        response.retryAfter = head.retryAfter
        response.continuation = head.continuation
        self.buffer.moveReaderIndex(forwardBy: fields.index)
        if head.status < 200 {
            // Interim responses (RFC 9110, section 15.2) are skipped.
            interimCount += 1
            guard interimCount <= Self.maximumInterimResponses else { throw .malformed("too many interim responses") }
            scanned = 0
            stage = .statusLine
            return true
        }
        keepsAlive = head.keepsAlive
        stage =
            switch head.body {
            case .length(let length): .body(length: length)
            case .chunked: .chunks
            case .untilClose: .untilClose
            }
        return true
    }
}
