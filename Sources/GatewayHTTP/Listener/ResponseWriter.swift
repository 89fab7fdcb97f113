internal import Gateway
internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// A serializer for HTTP/1.1 responses. It puts head and body into one buffer.
struct ResponseWriter {
    /// The connection state that affects how a response is written.
    struct Framing {
        /// Whether the request was HEAD, so that the response has no body (RFC 9110, section 9.3.2).
        var omitsBody: Bool
        /// The content of the `Connection` field.
        var connection: Persistence
    }

    /// The persistence of the connection, as announced to the client (RFC 9112, section 9).
    enum Persistence {
        /// The connection stays open, which is the default of HTTP/1.1.
        case kept
        /// The connection stays open, which HTTP/1.0 requires to be explicit.
        case keptExplicitly
        /// The connection closes after this response.
        case closed
    }

    /// `HTTP/1.1 100 Continue` (RFC 9110, section 15.2.1).
    static let continueFirst = ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")

    private var date: DateField

    init(clocks: Clocks) { date = DateField(clocks: clocks) }

    /// Returns the complete bytes of the response.
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

    /// Returns the current date as text, for HTTP/2 header fields.
    mutating func dateText() -> String { String(decoding: date.current(), as: UTF8.self) }

    /// Returns whether the status allows a body, and with it the field `Content-Length` (RFC 9110, section 8.6).
    static func mayHaveBody(_ status: Int) -> Bool { status >= 200 && status != 204 && status != 304 }

    /// Returns the reason phrase (RFC 9110, section 15) of a status that the gateway sends; empty for any other.
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
