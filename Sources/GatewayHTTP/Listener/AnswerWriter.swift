internal import Gateway
internal import GatewayCore
internal import NIOCore

/// Turns answers into bytes: head and body in one buffer, written at once.
struct AnswerWriter {
    /// What the connection adds to the answer's meaning.
    struct Framing {
        /// Whether the request was HEAD, whose answer has no body (RFC 9110, section 9.3.2).
        var omitsBody: Bool
        /// What `Connection` says.
        var connection: Persistence
    }

    /// What the client is told of the connection (RFC 9112, section 9).
    enum Persistence {
        /// It stays, which HTTP/1.1 takes for granted.
        case kept
        /// It stays, which HTTP/1.0 has to be told.
        case keptExplicitly
        /// It closes after this answer.
        case closed
    }

    /// `HTTP/1.1 100 Continue` (RFC 9110, section 15.2.1).
    static let continueFirst = ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")

    private var date: DateField

    init(clocks: Clocks) { date = DateField(clocks: clocks) }

    /// The answer's bytes.
    mutating func bytes(of answer: Answer, id: CallID, framing: Framing, allocator: ByteBufferAllocator) -> ByteBuffer {
        var buffer = allocator.buffer(capacity: 256 + answer.fields.count * 64 + answer.body.count)
        buffer.writeStaticString("HTTP/1.1 ")
        buffer.writeDecimal(answer.status)
        buffer.writeStaticString(" ")
        buffer.writeStaticString(Self.reason(answer.status))
        buffer.writeStaticString("\r\nDate: ")
        buffer.writeBytes(date.current())
        let mayHaveBody = Self.mayHaveBody(answer.status)
        if mayHaveBody {
            buffer.writeStaticString("\r\nContent-Length: ")
            buffer.writeDecimal(answer.body.count)
        }
        if let contentType = answer.contentType {
            buffer.writeStaticString("\r\nContent-Type: ")
            buffer.writeString(contentType)
        }
        for field in answer.fields {
            buffer.writeStaticString("\r\n")
            buffer.writeString(field.name)
            buffer.writeStaticString(": ")
            buffer.writeString(field.value)
        }
        buffer.writeStaticString("\r\nX-Request-Id: ")
        buffer.writeHexadecimal(id.process)
        buffer.writeHexadecimal(id.number)
        switch framing.connection {
        case .kept: buffer.writeStaticString("\r\n\r\n")
        case .keptExplicitly: buffer.writeStaticString("\r\nConnection: keep-alive\r\n\r\n")
        case .closed: buffer.writeStaticString("\r\nConnection: close\r\n\r\n")
        }
        if mayHaveBody, !framing.omitsBody { buffer.writeBytes(answer.body) }
        return buffer
    }

    /// The date as text, for fields that are no bytes yet.
    mutating func dateText() -> String { String(decoding: date.current(), as: UTF8.self) }

    /// RFC 9110, section 8.6: no Content-Length where the status alone says that there is no body.
    static func mayHaveBody(_ status: Int) -> Bool { status >= 200 && status != 204 && status != 304 }

    /// The reason phrases of RFC 9110, section 15, for the statuses that the gateway answers with.
    private static func reason(_ status: Int) -> StaticString {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 422: "Unprocessable Content"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        default: ""
        }
    }
}

extension ByteBuffer {
    /// Writes a number that is not negative in decimal, without making a string of it.
    fileprivate mutating func writeDecimal(_ number: Int) {
        var divisor = 1
        while number / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            writeInteger(UInt8(ascii: "0") + UInt8(number / divisor % 10))
            divisor /= 10
        }
    }

    /// Writes 16 lower-case hexadecimal digits.
    fileprivate mutating func writeHexadecimal(_ number: UInt64) {
        for shift in [32, 0] as [UInt64] {
            var digits: UInt64 = 0
            for byte in 0..<4 as Range<UInt64> {
                let (high, low) = UInt8(truncatingIfNeeded: number >> (shift + 24 - byte * 8)).hexDigits
                digits = digits << 16 | UInt64(high) << 8 | UInt64(low)
            }
            writeInteger(digits)
        }
    }
}
