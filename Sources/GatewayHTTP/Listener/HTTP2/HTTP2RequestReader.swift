internal import GatewayCore
internal import NIOCore
internal import NIOHPACK

/// A converter from the header fields of an HTTP/2 stream to a `RequestHead`. It applies the same rules as for
/// HTTP/1.1.
///
/// It does not touch sockets. It copies the used values into one buffer, which the ranges of the head refer to. Other
/// values are dropped after their check, because a client can refer to a long value with one byte (RFC 7541, section
/// 6.1), several times in each stream.
struct HTTP2RequestReader {
    /// The head, as ranges in `bytes`.
    private(set) var head: RequestHead
    /// The values of the used fields.
    private(set) var bytes: ByteBuffer

    private var methodLength: Int?
    private var hasScheme = false
    private var path: Range<Int>?
    private var authority: Range<Int>?

    /// Converts the fields of a request.
    ///
    /// - Parameter trustedProxy: The source of client addresses if the peer is a trusted proxy; nil if it is not.
    init(
        _ fields: HPACKHeaders, limits: ListenerConfiguration.Limits, trustedProxy source: TrustedProxies.Source? = nil
    ) throws(FramingError) {
        head = RequestHead(trustedProxy: source)
        bytes = ByteBufferAllocator().buffer(capacity: Self.initialBytesPerLine)
        var (count, size) = (0, 0)
        for (name, value, _) in fields {
            if name.utf8.first == .colon {
                // Pseudo-header fields come first (RFC 9113, section 8.3).
                guard count == 0 else { throw .malformedFields("a pseudo-header field after other fields") }
                try processPseudoHeader(name, value, limits)
                continue
            }
            count += 1
            size += name.utf8.count + value.utf8.count + 4
            guard count <= limits.fields, size <= limits.headerBlock else {
                throw FramingError(code: .headersTooLarge, detail: "the fields are too many or too long")
            }
            try process(name, value)
        }
        try finish(limits)
    }

    /// The initial capacity of the buffer, in bytes. Nearly all requests fit.
    private static let initialBytesPerLine = 1024

    private mutating func processPseudoHeader(
        _ name: String, _ value: String, _ limits: ListenerConfiguration.Limits
    ) throws(FramingError) {
        let isNew: Bool
        switch name {
        case ":method": isNew = methodLength == nil
        case ":scheme": isNew = !hasScheme
        case ":path": isNew = path == nil
        case ":authority": isNew = authority == nil
        default: throw .malformedFields("an unknown pseudo-header field in a request")
        }
        guard isNew else { throw .malformedFields("a repeated pseudo-header field") }
        guard value.utf8.count <= limits.requestLine else {
            throw FramingError(code: .uriTooLong, detail: "the path is too long")
        }
        let start = bytes.writerIndex
        bytes.writeString(value)
        let place = start..<bytes.writerIndex
        let bytes = bytes
        switch name {
        case ":method":
            try processMethod(place, bytes.readableBytesUInt8Span)
            self.bytes.moveWriterIndex(to: start)
        case ":scheme":
            try processScheme(place, bytes.readableBytesUInt8Span)
            self.bytes.moveWriterIndex(to: start)
        case ":path": try processPath(place, bytes.readableBytesUInt8Span)
        default:
            guard HostGrammar.matches(place, in: bytes.readableBytesUInt8Span) else {
                throw .malformed("an invalid authority")
            }
            authority = place
        }
    }

    private mutating func processMethod(
        _ method: Range<Int>, _ bytes: borrowing Span<UInt8>
    ) throws(FramingError) {
        for index in method where !bytes[index].isTokenByte { throw .malformed("a method that is not a token") }
        try head.process(method: method, in: bytes)
        methodLength = method.count
    }

    private mutating func processScheme(
        _ scheme: Range<Int>, _ bytes: borrowing Span<UInt8>
    ) throws(FramingError) {
        head.schemeIsHTTPS = bytes.equalsIgnoringCase("https", in: scheme)
        guard head.schemeIsHTTPS || bytes.equalsIgnoringCase("http", in: scheme) else {
            throw .malformed("a scheme that is neither http nor https")
        }
        hasScheme = true
    }

    private mutating func process(_ name: String, _ value: String) throws(FramingError) {
        // A client can refer to a long table entry with one byte. Values are therefore checked in place and copied only
        // if used.
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
        // The equivalent HTTP/1.1 request line has the same limit.
        guard methodLength + path.count + 10 <= limits.requestLine else {
            throw FramingError(code: .uriTooLong, detail: "the path is too long")
        }
        // `:authority` takes the place of Host. If both are present, they must be equal (RFC 9113, section 8.3.1).
        if head.host == nil { head.host = authority } else { head.authority = authority }
        let all = bytes
        try head.check(bodyLimit: limits.body, in: all.readableBytesUInt8Span)
        // Release the memory of long values that were dropped.
        if all.storageCapacity > Self.initialBytesPerLine, all.readableBytes * 2 <= all.storageCapacity {
            bytes = ByteBuffer(bytes: all.readableBytesView)
        }
    }

    private mutating func processPath(_ path: Range<Int>, _ bytes: borrowing Span<UInt8>) throws(FramingError) {
        guard !path.isEmpty, bytes[path.lowerBound] == UInt8(ascii: "/") else {
            throw .malformed("a path that does not begin with a slash")
        }
        var questionMark: Int?
        for index in path {
            let byte = bytes[index]
            guard byte.isVisible, byte != UInt8(ascii: "#") else {
                throw .malformed("an invalid byte in the target")
            }
            if byte == UInt8(ascii: "?"), questionMark == nil { questionMark = index }
        }
        self.path = path
        head.path = path.lowerBound..<(questionMark ?? path.upperBound)
        head.query = questionMark.map { $0 + 1..<path.upperBound }
    }

    /// Checks trailers, whose content is ignored. Pseudo-header fields are not allowed in them (RFC 9113, section 8.1).
    static func check(trailers: HPACKHeaders) throws(FramingError) {
        for (name, value, _) in trailers { _ = try check(name.utf8.span, value.utf8.span) }
    }

    /// Checks the syntax of a field (RFC 9113, section 8.2) and rejects connection-specific fields, which HTTP/2 does
    /// not have. Returns the known field, or nil for a field that is ignored, and whether the value contains non-ASCII
    /// bytes.
    private static func check(
        _ name: borrowing Span<UInt8>, _ value: borrowing Span<UInt8>
    ) throws(FramingError) -> (field: RequestField?, hasObsoleteText: Bool) {
        let (wholeName, wholeValue) = (0..<name.count, 0..<value.count)
        guard name.isLowercaseToken else { throw .malformedFields("an invalid byte in a field name") }
        guard value.trimmed(wholeValue) == wholeValue else {
            throw .malformedFields("white space around a field value")
        }
        let text = value.fieldValueClass
        guard text != .forbidden else { throw .malformedFields("a control character in a field") }
        for word in ["connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"] as [StaticString]
        where name.equalsIgnoringCase(word, in: wholeName) {
            throw .malformedFields("a connection-specific field")
        }
        if name.equalsIgnoringCase("te", in: wholeName), !value.equalsIgnoringCase("trailers", in: wholeValue) {
            throw .malformedFields("a TE field with a value other than trailers")
        }
        return (try RequestField.named(wholeName, in: name), text == .obsText)
    }
}
