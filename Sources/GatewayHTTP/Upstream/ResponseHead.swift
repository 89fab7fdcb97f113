internal import GatewayCore

/// What is kept of a response's head, as places in the bytes that it was read from.
struct ResponseHead {
    /// The status code.
    var status = 0
    /// Whether the version is HTTP/1.1; else it is HTTP/1.0.
    var isVersion11 = true
    private var contentLength: Int?
    private var isChunked = false
    private var asksToClose = false
    private var asksToKeep = false

    /// How the body's end is found (RFC 9112, section 6.3).
    enum BodyFraming: Equatable {
        case length(Int)
        case chunked
        case untilClose
    }

    /// How the body's end is found. Requests are never HEAD or CONNECT.
    var body: BodyFraming {
        if status < 200 || status == 204 || status == 304 { return .length(0) }
        if isChunked { return .chunked }
        return contentLength.map { .length($0) } ?? .untilClose
    }

    /// Whether the backend keeps the connection.
    var keepsAlive: Bool { !asksToClose && (isVersion11 || asksToKeep) && body != .untilClose }

    /// Reads `HTTP/1.x NNN [reason]`, without its line end (RFC 9112, section 4).
    init(statusLine line: Range<Int>, in bytes: Span<UInt8>) throws(FramingError) {
        let prefix = "HTTP/1.".utf8
        guard line.count >= 12 else { throw .malformed("a status line that is too short") }
        var index = line.lowerBound
        for byte in prefix {
            guard bytes[index] == byte else { throw .malformed("an answer that is not HTTP/1.x") }
            index += 1
        }
        guard bytes[index] == UInt8(ascii: "0") || bytes[index] == UInt8(ascii: "1"), bytes[index + 1] == .space else {
            throw .malformed("an answer that is neither HTTP/1.0 nor HTTP/1.1")
        }
        isVersion11 = bytes[index] == UInt8(ascii: "1")
        for place in index + 2..<index + 5 {
            guard bytes[place].isASCIIDigit else { throw .malformed("a status that is no number") }
            status = status * 10 + Int(bytes[place] - UInt8(ascii: "0"))
        }
        guard (100...599).contains(status), status != 101 else { throw .malformed("a status that has no meaning here") }
        guard line.count == 12 || bytes[index + 5] == .space else { throw .malformed("a status of too many digits") }
    }

    /// Takes one field line into account.
    mutating func process(_ line: FieldLine, in bytes: Span<UInt8>) throws(FramingError) {
        if bytes.reads("content-length", in: line.name) {
            guard contentLength == nil else { throw .malformed("Content-Length twice in an answer") }
            contentLength = try RequestHead.length(line.value, in: bytes)
        } else if bytes.reads("transfer-encoding", in: line.name) {
            guard !isChunked, bytes.reads("chunked", in: line.value) else {
                throw .malformed("a transfer coding but chunked in an answer")
            }
            isChunked = true
        } else if bytes.reads("connection", in: line.name) {
            if bytes.reads("keep-alive", in: line.value) {
                asksToKeep = true
            } else {
                // Whatever else it says, a new connection is never wrong.
                asksToClose = true
            }
        }
    }

    /// What can only be judged when all fields are there.
    func check(bodyLimit: Int) throws(FramingError) {
        guard !(isChunked && contentLength != nil) else {
            throw .malformed("Content-Length with Transfer-Encoding in an answer")
        }
        guard !isChunked || isVersion11 else { throw .malformed("Transfer-Encoding in an HTTP/1.0 answer") }
        if case .length(let length) = body, length > bodyLimit {
            throw FramingError(code: .backendFailed, detail: "the answer is too long")
        }
    }
}
