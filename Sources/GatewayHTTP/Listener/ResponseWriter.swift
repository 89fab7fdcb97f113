internal import Gateway
internal import GatewayCore
package import GatewaySupport
internal import NIOCore
internal import NIOHPACK

/// A serializer for responses: one buffer with head and body for HTTP/1.1, header fields for HTTP/2.
struct ResponseWriter {
    /// The requirements of the request and the connection on the serialized response.
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
    static let continueResponse = ByteBuffer(string: "HTTP/1.1 100 Continue\r\n\r\n")

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

/// A cache for the value of the `Date` field (RFC 9110, section 5.6.7), formatted at most once a second.
package struct DateField {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private let clocks: Clocks
    private var second = Int64.min
    private var text: [UInt8] = []

    /// Creates a cache of the time of the clocks.
    package init(clocks: Clocks) { self.clocks = clocks }

    /// Returns the current time in the form `Sat, 21 Nov 2026 07:00:00 GMT`.
    package mutating func current() -> [UInt8] {
        let now = clocks.wall()
        if now.seconds != second {
            second = now.seconds
            text = Array(Self.format(now).utf8)
        }
        return text
    }

    private static func format(_ time: WallTime) -> String {
        // RFC 3339 contains the same parts in a different order: 2026-11-21T07:00:00.000000Z.
        let parts = time.description
        func part(_ from: Int, _ length: Int) -> Substring { parts.dropFirst(from).prefix(length) }
        // The epoch was a Thursday.
        let day = Int(((time.seconds - (time.seconds % 86_400 + 86_400) % 86_400) / 86_400 % 7 + 7) % 7)
        let month = min(max((Int(part(5, 2)) ?? 1) - 1, 0), 11)
        return "\(days[day]), \(part(8, 2)) \(months[month]) \(part(0, 4)) \(part(11, 8)) GMT"
    }
}

extension ResponseWriter {
    /// The values of `:status` in HPACK's static table (RFC 7541, appendix A).
    private static let staticStatuses = [200, 204, 206, 304, 400, 404, 500]

    /// Returns the header fields of an HTTP/2 response: the same as in HTTP/1.1, without the connection-specific ones.
    ///
    /// No field is added to the dynamic table (RFC 7541, section 6.2.2). The client chooses the size of the encoder's
    /// dynamic table, and each response has a new `x-request-id`, so an indexed response would make the table and its
    /// linear search grow.
    mutating func fields(of response: Response, id: CallID) -> HPACKHeaders {
        var fields = HPACKHeaders()
        fields.reserveCapacity(response.fields.count + 5)
        // A status of the static table takes one byte. An indexable field that the static table has is not added to the
        // dynamic table.
        fields.add(
            name: ":status", value: "\(response.status)",
            indexing: Self.staticStatuses.contains(response.status) ? .indexable : .nonIndexable)
        fields.add(name: "date", value: dateText(), indexing: .nonIndexable)
        if Self.mayHaveBody(response.status) {
            fields.add(name: "content-length", value: "\(response.body.count)", indexing: .nonIndexable)
        }
        if let contentType = response.contentType {
            fields.add(name: "content-type", value: contentType, indexing: .nonIndexable)
        }
        for field in response.fields {
            fields.add(name: field.name.lowercased(), value: field.value, indexing: .nonIndexable)
        }
        fields.add(name: "x-request-id", value: id.text, indexing: .nonIndexable)
        return fields
    }
}
