internal import GatewayCore
internal import NIOCore
internal import NIOHPACK

/// From the fields of a stream to what is kept of a request's head, by the very rules that hold for HTTP/1.1.
///
/// A value without sockets: names and values are put side by side into one buffer, in which `RequestHead` has its places.
struct HTTP2RequestReader {
    /// The head as places in `bytes`.
    private(set) var head: RequestHead
    /// Names and values, one after the other.
    private(set) var bytes = ByteBuffer()

    private var method: Range<Int>?
    private var scheme: Range<Int>?
    private var path: Range<Int>?
    private var authority: Range<Int>?
    private var lines: [FieldLine] = []

    /// Reads the fields of a request.
    ///
    /// - Parameter believes: by what the peer is believed; nil where it is not.
    init(
        _ fields: HPACKHeaders, limits: ListenerConfiguration.Limits, believes source: ProxyTrust.Source? = nil
    ) throws(FramingFault) {
        head = RequestHead(believes: source)
        try place(fields, limits)
        let bytes = bytes
        try read(bytes.readableBytesUInt8Span, limits)
    }

    private mutating func place(
        _ fields: HPACKHeaders, _ limits: ListenerConfiguration.Limits
    ) throws(FramingFault) {
        var size = 0
        for (name, value, _) in fields {
            let start = bytes.writerIndex
            bytes.writeString(name)
            let middle = bytes.writerIndex
            bytes.writeString(value)
            let (namePlace, valuePlace) = (start..<middle, middle..<bytes.writerIndex)
            if name.utf8.first == .colon {
                try placePseudo(name, valuePlace)
                continue
            }
            // RFC 9113, section 8.3: pseudo-header fields come first. `placePseudo` looks for lines.
            size += name.utf8.count + value.utf8.count + 4
            guard lines.count < limits.fields, size <= limits.headerBlock else {
                throw FramingFault(code: .headersTooLarge, detail: "too many fields, or too long ones")
            }
            lines.append(FieldLine(name: namePlace, value: valuePlace, hasObsoleteText: false))
        }
    }

    private mutating func placePseudo(_ name: String, _ value: Range<Int>) throws(FramingFault) {
        guard lines.isEmpty else { throw .malformed("a pseudo-header field behind others") }
        var isNew = false
        switch name {
        case ":method": (isNew, method) = (method == nil, value)
        case ":scheme": (isNew, scheme) = (scheme == nil, value)
        case ":path": (isNew, path) = (path == nil, value)
        case ":authority": (isNew, authority) = (authority == nil, value)
        default: throw .malformed("a pseudo-header field that requests do not have")
        }
        if !isNew { throw .malformed("a pseudo-header field twice") }
    }

    private mutating func read(
        _ bytes: borrowing Span<UInt8>, _ limits: ListenerConfiguration.Limits
    ) throws(FramingFault) {
        guard let method, let scheme, let path else { throw .malformed("a pseudo-header field is missing") }
        guard bytes.reads("http", in: scheme) || bytes.reads("https", in: scheme) else {
            throw .malformed("a scheme that is neither http nor https")
        }
        // As the line of HTTP/1.1 would be.
        guard method.count + path.count + 10 <= limits.requestLine else {
            throw FramingFault(code: .uriTooLong, detail: "the path is too long")
        }
        for index in method where !bytes[index].isTokenByte { throw .malformed("a method that is no token") }
        try head.take(method: method, in: bytes)
        try readPath(path, bytes)
        if let authority {
            guard HostGrammar.matches(authority, in: bytes) else { throw .malformed("an authority that is no host") }
        }
        for var line in lines {
            try Self.check(&line, bytes)
            try head.take(line, in: bytes)
        }
        // RFC 9113, section 8.3.1: the authority is the host; where both are there, they are the same.
        if head.host == nil { head.host = authority } else { head.authority = authority }
        try head.check(bodyLimit: limits.body, in: bytes)
    }

    private mutating func readPath(_ path: Range<Int>, _ bytes: borrowing Span<UInt8>) throws(FramingFault) {
        guard !path.isEmpty, bytes[path.lowerBound] == UInt8(ascii: "/") else {
            throw .malformed("a path that does not begin with a slash")
        }
        var questionMark: Int?
        for index in path {
            let byte = bytes[index]
            guard byte.isVisible, byte != UInt8(ascii: "#") else {
                throw .malformed("a byte in the target that no target may hold")
            }
            if byte == UInt8(ascii: "?"), questionMark == nil { questionMark = index }
        }
        head.path = path.lowerBound..<(questionMark ?? path.upperBound)
        head.query = questionMark.map { $0 + 1..<path.upperBound }
    }

    /// RFC 9113, section 8.2: what names and values may be, and fields that are about connections, of which HTTP/2 has none.
    private static func check(_ line: inout FieldLine, _ bytes: borrowing Span<UInt8>) throws(FramingFault) {
        guard !line.name.isEmpty else { throw .malformed("a field without a name") }
        for index in line.name {
            let byte = bytes[index]
            guard byte.isTokenByte, !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) else {
                throw .malformed("a byte in a field name that no name may hold")
            }
        }
        guard bytes.trimmed(line.value) == line.value else { throw .malformed("white space around a value") }
        for index in line.value {
            if bytes[index] >= 0x80 { line.hasObsoleteText = true }
            if bytes[index].isForbiddenInValue { throw .malformed("a control character in a field") }
        }
        for name in ["connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"] as [StaticString]
        where bytes.reads(name, in: line.name) {
            throw .malformed("a field about the connection")
        }
        if bytes.reads("te", in: line.name), !bytes.reads("trailers", in: line.value) {
            throw .malformed("a TE but trailers")
        }
    }
}
