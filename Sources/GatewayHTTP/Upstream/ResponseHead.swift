internal import GatewayCore
internal import GatewaySupport

/// The parts of a response's head that the gateway uses.
struct ResponseHead {
    /// The status code.
    var status = 0
    /// Whether the version is HTTP/1.1; otherwise it is HTTP/1.0.
    var isVersion11 = true
    /// The value of `Location`; nil without one.
    var location: String?
    /// The value of `Retry-After` in seconds (RFC 9110, section 10.2.3); nil without one, and for a date.
    var retryAfter: Int?
    /// The value of `X-MS-ContinuationToken`; nil without one.
    var continuation: String?
    private var contentLength: Int?
    private var isChunked = false
    private var hasCloseOption = false
    private var hasKeepAliveOption = false

    /// The method that delimits the body (RFC 9112, section 6.3).
    enum BodyFraming: Equatable {
        case length(Int)
        case chunked
        case untilClose
    }

    /// The method that delimits this body. The gateway never sends HEAD or CONNECT.
    var body: BodyFraming {
        if status < 200 || status == 204 || status == 304 { return .length(0) }
        if isChunked { return .chunked }
        return contentLength.map { .length($0) } ?? .untilClose
    }

    /// Whether the backend keeps the connection open after the response.
    var keepsAlive: Bool { !hasCloseOption && (isVersion11 || hasKeepAliveOption) && body != .untilClose }

    /// Parses `HTTP/1.x NNN [reason]`, without the line ending (RFC 9112, section 4).
    init(statusLine line: Range<Int>, in bytes: Span<UInt8>) throws(FramingError) {
        let prefix = "HTTP/1.".utf8
        guard line.count >= 12 else { throw .malformed("a status line that is too short") }
        var index = line.lowerBound
        for byte in prefix {
            guard bytes[index] == byte else { throw .malformed("a response that is not HTTP/1.x") }
            index += 1
        }
        guard bytes[index] == UInt8(ascii: "0") || bytes[index] == UInt8(ascii: "1"), bytes[index + 1] == .space else {
            throw .malformed("a response that is neither HTTP/1.0 nor HTTP/1.1")
        }
        isVersion11 = bytes[index] == UInt8(ascii: "1")
        for place in index + 2..<index + 5 {
            guard bytes[place].isASCIIDigit else { throw .malformed("a status that is not a number") }
            status = status * 10 + Int(bytes[place] - UInt8(ascii: "0"))
        }
        guard (100...599).contains(status), status != 101 else { throw .malformed("an unsupported status") }
        guard line.count == 12 || bytes[index + 5] == .space else { throw .malformed("a status with too many digits") }
    }

    /// Applies one field line. Throws on contradictory framing fields.
    mutating func process(_ line: FieldLine, in bytes: Span<UInt8>) throws(FramingError) {
        if bytes.equalsIgnoringCase("content-length", in: line.name) {
            guard contentLength == nil else { throw .malformed("more than one Content-Length field in a response") }
            contentLength = try RequestHead.length(line.value, in: bytes)
        } else if bytes.equalsIgnoringCase("transfer-encoding", in: line.name) {
            guard !isChunked, bytes.equalsIgnoringCase("chunked", in: line.value) else {
                throw .malformed("a transfer coding other than chunked in a response")
            }
            isChunked = true
        } else if bytes.equalsIgnoringCase("connection", in: line.name) {
            if bytes.equalsIgnoringCase("keep-alive", in: line.value) {
                hasKeepAliveOption = true
            } else {
                // Every other value closes the connection, which is always safe.
                hasCloseOption = true
            }
        } else if bytes.equalsIgnoringCase("location", in: line.name) {
            location = Self.text(line.value, in: bytes)
        } else if bytes.equalsIgnoringCase("retry-after", in: line.name) {
            retryAfter = Self.text(line.value, in: bytes).flatMap { UInt16($0) }.map(Int.init)
        } else if bytes.equalsIgnoringCase("x-ms-continuationtoken", in: line.name) {
            continuation = Self.text(line.value, in: bytes)
        }
    }

    private static func text(_ value: Range<Int>, in bytes: Span<UInt8>) -> String? {
        guard (1...1024).contains(value.count) else { return nil }
        for place in value {
            guard (0x21...0x7E).contains(bytes[place]) else { return nil }
        }
        return String(unsafeUninitializedCapacity: value.count) { text in
            for (offset, place) in value.enumerated() { text.initializeElement(at: offset, to: bytes[place]) }
            return value.count
        }
    }

    /// Checks the conditions that depend on more than one field.
    func check(bodyLimit: Int) throws(FramingError) {
        guard !(isChunked && contentLength != nil) else {
            throw .malformed("Content-Length together with Transfer-Encoding in a response")
        }
        guard !isChunked || isVersion11 else { throw .malformed("Transfer-Encoding in an HTTP/1.0 response") }
        if case .length(let length) = body, length > bodyLimit {
            throw FramingError(code: .backendFailed, detail: "the response is too long")
        }
    }
}
