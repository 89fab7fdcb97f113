internal import GatewayCore
internal import NIOCore
internal import NIOHPACK

/// From the fields of a stream to what is kept of a request's head, by the very rules that hold for HTTP/1.1.
///
/// A value without sockets: what is used of the fields is put side by side into one buffer, in which `RequestHead` has its places.
/// The bytes of other fields are dropped as soon as they are checked: a client may refer to a long one by a single byte (RFC 7541,
/// section 6.1), in each stream and several times.
struct HTTP2RequestReader {
    /// The head as places in `bytes`.
    private(set) var head: RequestHead
    /// Names and values of the fields that are used, one after the other.
    private(set) var bytes: ByteBuffer

    private var methodLength: Int?
    private var hasScheme = false
    private var path: Range<Int>?
    private var authority: Range<Int>?

    /// Reads the fields of a request.
    ///
    /// - Parameter trustedProxy: by what the peer is believed; nil where it is not.
    init(
        _ fields: HPACKHeaders, limits: ListenerConfiguration.Limits, trustedProxy source: TrustedProxies.Source? = nil
    ) throws(FramingError) {
        head = RequestHead(trustedProxy: source)
        bytes = ByteBufferAllocator().buffer(capacity: Self.usualBytes)
        var (count, size) = (0, 0)
        for (name, value, _) in fields {
            if name.utf8.first == .colon {
                // RFC 9113, section 8.3: pseudo-header fields come first.
                guard count == 0 else { throw .malformedFields("a pseudo-header field behind others") }
                try takePseudo(name, value, limits)
                continue
            }
            count += 1
            size += name.utf8.count + value.utf8.count + 4
            guard count <= limits.fields, size <= limits.headerBlock else {
                throw FramingError(code: .headersTooLarge, detail: "too many fields, or too long ones")
            }
            try process(name, value)
        }
        try finish(limits)
    }

    /// Nearly all requests fit.
    private static let usualBytes = 1024

    private mutating func takePseudo(
        _ name: String, _ value: String, _ limits: ListenerConfiguration.Limits
    ) throws(FramingError) {
        let isNew: Bool
        switch name {
        case ":method": isNew = methodLength == nil
        case ":scheme": isNew = !hasScheme
        case ":path": isNew = path == nil
        case ":authority": isNew = authority == nil
        default: throw .malformedFields("a pseudo-header field that requests do not have")
        }
        guard isNew else { throw .malformedFields("a pseudo-header field twice") }
        guard value.utf8.count <= limits.requestLine else {
            throw FramingError(code: .uriTooLong, detail: "the path is too long")
        }
        let start = bytes.writerIndex
        bytes.writeString(value)
        let place = start..<bytes.writerIndex
        let bytes = bytes
        switch name {
        case ":method":
            try takeMethod(place, bytes.readableBytesUInt8Span)
            self.bytes.moveWriterIndex(to: start)
        case ":scheme":
            try takeScheme(place, bytes.readableBytesUInt8Span)
            self.bytes.moveWriterIndex(to: start)
        case ":path": try takePath(place, bytes.readableBytesUInt8Span)
        default:
            guard HostGrammar.matches(place, in: bytes.readableBytesUInt8Span) else {
                throw .malformed("an authority that is no host")
            }
            authority = place
        }
    }

    private mutating func takeMethod(
        _ method: Range<Int>, _ bytes: borrowing Span<UInt8>
    ) throws(FramingError) {
        for index in method where !bytes[index].isTokenByte { throw .malformed("a method that is no token") }
        try head.process(method: method, in: bytes)
        methodLength = method.count
    }

    private mutating func takeScheme(
        _ scheme: Range<Int>, _ bytes: borrowing Span<UInt8>
    ) throws(FramingError) {
        head.schemeIsHTTPS = bytes.reads("https", in: scheme)
        guard head.schemeIsHTTPS || bytes.reads("http", in: scheme) else {
            throw .malformed("a scheme that is neither http nor https")
        }
        hasScheme = true
    }

    private mutating func process(_ name: String, _ value: String) throws(FramingError) {
        // A client refers to a long entry of its table by one byte: each is checked where it lies, and only what is used is copied.
        let (field, hasObsoleteText) = try Self.check(name.utf8.span, value.utf8.span)
        guard let field, !field.requiresTrustedProxy || head.isTrusted else { return }
        let start = bytes.writerIndex
        bytes.writeString(value)
        let place = start..<bytes.writerIndex
        let all = bytes
        let isKept = try head.process(field, place, hasObsoleteText: hasObsoleteText, in: all.readableBytesUInt8Span)
        if !isKept { bytes.moveWriterIndex(to: start) }
    }

    private mutating func finish(_ limits: ListenerConfiguration.Limits) throws(FramingError) {
        guard let methodLength, hasScheme, let path else { throw .malformedFields("a pseudo-header field is missing") }
        // As the line of HTTP/1.1 would be.
        guard methodLength + path.count + 10 <= limits.requestLine else {
            throw FramingError(code: .uriTooLong, detail: "the path is too long")
        }
        // RFC 9113, section 8.3.1: the authority is the host; where both are there, they are the same.
        if head.host == nil { head.host = authority } else { head.authority = authority }
        let all = bytes
        try head.check(bodyLimit: limits.body, in: all.readableBytesUInt8Span)
        // What a long field that was dropped has taken is not kept with the request.
        if all.storageCapacity > Self.usualBytes, all.readableBytes * 2 <= all.storageCapacity {
            bytes = ByteBuffer(bytes: all.readableBytesView)
        }
    }

    private mutating func takePath(_ path: Range<Int>, _ bytes: borrowing Span<UInt8>) throws(FramingError) {
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
        self.path = path
        head.path = path.lowerBound..<(questionMark ?? path.upperBound)
        head.query = questionMark.map { $0 + 1..<path.upperBound }
    }

    /// Checks trailers, of which nothing is used: there are no pseudo-header fields in them (RFC 9113, section 8.1).
    static func check(trailers: HPACKHeaders) throws(FramingError) {
        for (name, value, _) in trailers { _ = try check(name.utf8.span, value.utf8.span) }
    }

    /// Checks a field by RFC 9113, section 8.2: what names and values may be, and that it is not about the connection, of which
    /// HTTP/2 has no fields. Returns which field it is, nil for one that is ignored, and whether its value has bytes beyond ASCII.
    private static func check(
        _ name: borrowing Span<UInt8>, _ value: borrowing Span<UInt8>
    ) throws(FramingError) -> (field: RequestField?, hasObsoleteText: Bool) {
        let (wholeName, wholeValue) = (0..<name.count, 0..<value.count)
        guard name.isLowercaseToken else { throw .malformedFields("a field name that no field may have") }
        guard value.trimmed(wholeValue) == wholeValue else { throw .malformedFields("white space around a value") }
        let text = value.fieldText
        guard text != .forbidden else { throw .malformedFields("a control character in a field") }
        for word in ["connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"] as [StaticString]
        where name.reads(word, in: wholeName) {
            throw .malformedFields("a field about the connection")
        }
        if name.reads("te", in: wholeName), !value.reads("trailers", in: wholeValue) {
            throw .malformedFields("a TE but trailers")
        }
        return (try RequestField.named(wholeName, in: name), text == .beyondASCII)
    }
}
