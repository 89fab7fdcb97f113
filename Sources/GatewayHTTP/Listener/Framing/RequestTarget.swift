internal import GatewayCore

/// The parser for the request target (RFC 9112, section 3.2). It accepts the origin form and the absolute form.
///
/// The authority form and `*` belong to methods that the gateway does not support.
enum RequestTarget {
    /// Stores path, query and authority in `head`. The caller has checked that all bytes of the target are visible
    /// ASCII.
    static func read(
        _ target: Range<Int>, questionMark: Int?, in bytes: borrowing Span<UInt8>, into head: inout RequestHead
    ) throws(FramingError) {
        guard !target.isEmpty else { throw .malformed("a request line without a target") }
        let pathEnd = questionMark ?? target.upperBound
        head.query = questionMark.map { $0 + 1..<target.upperBound }
        if bytes[target.lowerBound] == UInt8(ascii: "/") {
            head.path = target.lowerBound..<pathEnd
            return
        }
        let authorityStart = try schemeEnd(target, in: bytes, into: &head)
        var authorityEnd = authorityStart
        while authorityEnd < pathEnd, bytes[authorityEnd] != UInt8(ascii: "/") { authorityEnd += 1 }
        // User information is not allowed (RFC 9110, section 4.2.4). The host grammar rejects it.
        guard HostGrammar.matches(authorityStart..<authorityEnd, in: bytes) else {
            throw .malformed("an absolute target without a valid authority")
        }
        head.authority = authorityStart..<authorityEnd
        head.path = authorityEnd..<pathEnd
    }

    private static func schemeEnd(
        _ target: Range<Int>, in bytes: borrowing Span<UInt8>, into head: inout RequestHead
    ) throws(FramingError) -> Int {
        for scheme in ["http", "https"] as [StaticString] {
            let colon = target.lowerBound + scheme.utf8CodeUnitCount
            if colon + 3 <= target.upperBound, bytes.equalsIgnoringCase(scheme, in: target.lowerBound..<colon),
                bytes[colon] == .colon, bytes[colon + 1] == UInt8(ascii: "/"), bytes[colon + 2] == UInt8(ascii: "/")
            {
                head.schemeIsHTTPS = scheme.utf8CodeUnitCount == 5
                return colon + 3
            }
        }
        throw .malformed("a target that is neither a path nor an http URI")
    }
}
