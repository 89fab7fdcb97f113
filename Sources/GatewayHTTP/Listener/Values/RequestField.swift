internal import GatewayCore
internal import GatewaySupport

/// The request fields that the gateway uses. It ignores all other fields.
enum RequestField {
    case host, contentLength, transferEncoding, connection, expect, authorization, contentType, contentEncoding
    case idempotencyKey, traceparent, tracestate, forwarded, xForwardedFor, xForwardedProto
    case clientCert, clientCertChain

    /// Whether the field is ignored unless the peer is trusted.
    var requiresTrustedProxy: Bool {
        switch self {
        case .forwarded, .xForwardedFor, .xForwardedProto, .traceparent, .tracestate, .clientCert, .clientCertChain:
            true
        case .host, .contentLength, .transferEncoding, .connection, .expect, .authorization, .contentType,
            .contentEncoding, .idempotencyKey:
            false
        }
    }

    /// Returns the field with the given name; nil for a name that is ignored.
    ///
    /// A name that differs from `Host`, `Authorization`, `Content-Length` or `Transfer-Encoding` only by punctuation is
    /// a fault, because a proxy in front of the gateway may treat it as the real field.
    static func named(_ name: Range<Int>, in bytes: borrowing Span<UInt8>) throws(FramingError) -> RequestField? {
        // Length and first letter leave one candidate, so a name needs at most one comparison.
        let candidate: (word: StaticString, field: RequestField)? =
            switch (name.count, bytes[name.lowerBound] | 0x20) {
            case (4, UInt8(ascii: "h")): ("host", .host)
            case (6, UInt8(ascii: "e")): ("expect", .expect)
            case (9, UInt8(ascii: "f")): ("forwarded", .forwarded)
            case (10, UInt8(ascii: "c")): ("connection", .connection)
            case (10, UInt8(ascii: "t")): ("tracestate", .tracestate)
            case (11, UInt8(ascii: "c")): ("client-cert", .clientCert)
            case (11, UInt8(ascii: "t")): ("traceparent", .traceparent)
            case (12, UInt8(ascii: "c")): ("content-type", .contentType)
            case (13, UInt8(ascii: "a")): ("authorization", .authorization)
            case (14, UInt8(ascii: "c")): ("content-length", .contentLength)
            case (15, UInt8(ascii: "i")): ("idempotency-key", .idempotencyKey)
            case (15, UInt8(ascii: "x")): ("x-forwarded-for", .xForwardedFor)
            case (16, UInt8(ascii: "c")): ("content-encoding", .contentEncoding)
            case (17, UInt8(ascii: "c")): ("client-cert-chain", .clientCertChain)
            case (17, UInt8(ascii: "x")): ("x-forwarded-proto", .xForwardedProto)
            case (17, UInt8(ascii: "t")): ("transfer-encoding", .transferEncoding)
            default: nil
            }
        if let candidate, bytes.equalsIgnoringCase(candidate.word, in: name) { return candidate.field }
        try rejectLookAlike(name, in: bytes)
        return nil
    }

    private static func rejectLookAlike(_ name: Range<Int>, in bytes: borrowing Span<UInt8>) throws(FramingError) {
        let words: [String]
        switch bytes.alphanumericCount(in: name) {
        case 4: words = ["host"]
        case 13: words = ["authorization", "contentlength"]
        case 16: words = ["transferencoding"]
        default: return
        }
        for word in words where lettersAndDigits(of: name, in: bytes, spell: word) {
            throw .malformed("a field name that resembles \(word)")
        }
    }

    private static func lettersAndDigits(
        of name: Range<Int>, in bytes: borrowing Span<UInt8>, spell word: String
    ) -> Bool {
        var rest = word.utf8[...]
        for index in name where bytes[index].isAlphanumeric {
            guard rest.popFirst() == bytes[index] | 0x20 else { return false }
        }
        return rest.isEmpty
    }
}
