internal import GatewayCore
internal import GatewaySupport

extension RequestHead {
    /// Applies one field line. Returns whether the range of its value is stored; otherwise its bytes are no longer
    /// needed.
    @discardableResult
    mutating func process(_ line: FieldLine, in bytes: borrowing Span<UInt8>) throws(FramingError) -> Bool {
        guard let field = try RequestField.named(line.name, in: bytes) else { return false }
        return try process(field, line.value, hasObsoleteText: line.hasObsoleteText, in: bytes)
    }

    /// Applies the value of a known field. Returns whether its range is stored.
    mutating func process(
        _ field: RequestField, _ value: Range<Int>, hasObsoleteText: Bool, in bytes: borrowing Span<UInt8>
    ) throws(FramingError) -> Bool {
        if field.requiresTrustedProxy {
            forwarding?.process(field, value)
            trace?.process(field, value)
            return forwarding != nil || trace != nil
        }
        guard !hasObsoleteText else { throw .malformed("a non-ASCII byte in the value of a known field") }
        switch field {
        case .host:
            guard host == nil else { throw .malformed("more than one Host field") }
            guard HostGrammar.matches(value, in: bytes) else { throw .malformed("an invalid Host") }
            host = value
            return true
        case .contentLength:
            guard contentLength == nil else { throw .malformed("more than one Content-Length field") }
            contentLength = try Self.length(value, in: bytes)
        case .transferEncoding:
            guard !isChunked else { throw .malformed("more than one Transfer-Encoding field") }
            guard bytes.equalsIgnoringCase("chunked", in: value) else {
                throw .malformed("a transfer coding other than chunked")
            }
            isChunked = true
        case .connection:
            processConnection(value, in: bytes)
        case .expect:
            let isKnown = bytes.equalsIgnoringCase("100-continue", in: value) && expectation == .none
            expectation = isKnown ? .continue100 : .unknown
        case .authorization:
            return authorization.add(value)
        case .contentType:
            return contentType.add(value)
        case .contentEncoding:
            return contentEncoding.add(value)
        case .idempotencyKey:
            return idempotencyKey.add(value)
        case .forwarded, .xForwardedFor, .xForwardedProto, .traceparent, .tracestate, .clientCert, .clientCertChain:
            break
        }
        return false
    }

    /// Checks the conditions that depend on more than one field (RFC 9112, sections 3.2 and 6.1).
    func check(bodyLimit: Int, in bytes: borrowing Span<UInt8>) throws(FramingError) {
        guard let host else { throw .malformed("Host is missing") }
        let defaultPort: StaticString = schemeIsHTTPS ? "443" : "80"
        if let authority, !HostGrammar.equal(authority, host, defaultPort: defaultPort, in: bytes) {
            throw .malformed("a target whose authority differs from Host")
        }
        if isChunked {
            guard contentLength == nil else { throw .malformed("Content-Length together with Transfer-Encoding") }
            guard isVersion11 else { throw .malformed("Transfer-Encoding in HTTP/1.0") }
        }
        if expectation == .unknown {
            throw FramingError(code: .expectationFailed, detail: "an expectation other than 100-continue")
        }
        if let contentLength, contentLength > bodyLimit {
            throw FramingError(code: .payloadTooLarge, detail: "the body is too long")
        }
    }

    /// Applies `Connection`, a list of tokens (RFC 9110, section 7.6.1). Unknown tokens are ignored.
    private mutating func processConnection(_ value: Range<Int>, in bytes: borrowing Span<UInt8>) {
        var start = value.lowerBound
        while start < value.upperBound {
            var end = start
            while end < value.upperBound, bytes[end] != UInt8(ascii: ",") { end += 1 }
            let token = bytes.trimmed(start..<end)
            if bytes.equalsIgnoringCase("close", in: token) { hasCloseOption = true }
            if bytes.equalsIgnoringCase("keep-alive", in: token) { hasKeepAliveOption = true }
            start = end + 1
        }
    }

    /// Parses one or more digits. A very large number is capped at a value that is above every body limit.
    static func length(_ value: Range<Int>, in bytes: borrowing Span<UInt8>) throws(FramingError) -> Int {
        guard !value.isEmpty else { throw .malformed("an empty Content-Length") }
        var length = 0
        for index in value {
            guard bytes[index].isASCIIDigit else { throw .malformed("a Content-Length that is not a number") }
            length = min(length * 10 + Int(bytes[index] - UInt8(ascii: "0")), 1 << 50)
        }
        return length
    }
}

extension RequestHead {
    /// Stores the method. Methods are case-sensitive (RFC 9110, section 9.1). An unknown method leaves `method` nil;
    /// CONNECT is rejected.
    mutating func process(method word: Range<Int>, in bytes: borrowing Span<UInt8>) throws(FramingError) {
        guard !word.isEmpty else { throw .malformed("a request without a method") }
        if Self.equals("GET", bytes, word) {
            method = .get
        } else if Self.equals("POST", bytes, word) {
            method = .post
        } else if Self.equals("PUT", bytes, word) {
            method = .put
        } else if Self.equals("DELETE", bytes, word) {
            method = .delete
        } else if Self.equals("HEAD", bytes, word) {
            isHead = true
        } else if Self.equals("CONNECT", bytes, word) {
            throw .malformed("the CONNECT method")
        }
    }

    private static func equals(_ method: String, _ bytes: borrowing Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard range.count == method.utf8.count else { return false }
        var index = range.lowerBound
        for byte in method.utf8 {
            if bytes[index] != byte { return false }
            index += 1
        }
        return true
    }
}
