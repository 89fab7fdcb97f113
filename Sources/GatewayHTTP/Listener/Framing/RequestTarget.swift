internal import GatewayCore

/// The request target (RFC 9112, section 3.2): origin-form, or absolute-form reduced to it.
///
/// Authority-form and `*` belong to methods that the gateway does not have.
enum RequestTarget {
    /// Puts path, query and authority into `head`; all bytes of the target are visible ASCII already.
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
        // User information has no place here (RFC 9110, section 4.2.4) and is no byte of a host.
        guard HostGrammar.matches(authorityStart..<authorityEnd, in: bytes) else {
            throw .malformed("an absolute target without a proper authority")
        }
        head.authority = authorityStart..<authorityEnd
        head.path = authorityEnd..<pathEnd
    }

    private static func schemeEnd(
        _ target: Range<Int>, in bytes: borrowing Span<UInt8>, into head: inout RequestHead
    ) throws(FramingError) -> Int {
        for scheme in ["http", "https"] as [StaticString] {
            let colon = target.lowerBound + scheme.utf8CodeUnitCount
            if colon + 3 <= target.upperBound, bytes.reads(scheme, in: target.lowerBound..<colon),
                bytes[colon] == .colon, bytes[colon + 1] == UInt8(ascii: "/"), bytes[colon + 2] == UInt8(ascii: "/")
            {
                head.schemeIsHTTPS = scheme.utf8CodeUnitCount == 5
                return colon + 3
            }
        }
        throw .malformed("a target that is neither a path nor an http URI")
    }
}
