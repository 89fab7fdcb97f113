internal import Gateway
internal import GatewayCore
internal import NIOCore

/// Turns answers into bytes: head and body in one buffer, written at once.
struct ResponseWriter {
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
    mutating func bytes(
        of response: Response, id: CallID, framing: Framing, allocator: ByteBufferAllocator
    ) -> ByteBuffer {
        let date = date.current()
        let mayHaveBody = Self.mayHaveBody(response.status)
        return ByteBuffer(expecting: 256 + response.fields.count * 64 + response.body.count, from: allocator) { bytes in
            bytes.append("HTTP/1.1 ")
            bytes.append(decimal: response.status)
            bytes.append(" ")
            bytes.append(Self.reason(response.status))
            bytes.append("\r\nDate: ")
            bytes.append(date)
            if mayHaveBody {
                bytes.append("\r\nContent-Length: ")
                bytes.append(decimal: response.body.count)
            }
            if let contentType = response.contentType {
                bytes.append("\r\nContent-Type: ")
                bytes.append(text: contentType)
            }
            for field in response.fields {
                bytes.append("\r\n")
                bytes.append(text: field.name)
                bytes.append(": ")
                bytes.append(text: field.value)
            }
            bytes.append("\r\nX-Request-Id: ")
            id.write(to: &bytes)
            switch framing.connection {
            case .kept: bytes.append("\r\n\r\n")
            case .keptExplicitly: bytes.append("\r\nConnection: keep-alive\r\n\r\n")
            case .closed: bytes.append("\r\nConnection: close\r\n\r\n")
            }
            if mayHaveBody, !framing.omitsBody { bytes.append(response.body) }
        }
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
