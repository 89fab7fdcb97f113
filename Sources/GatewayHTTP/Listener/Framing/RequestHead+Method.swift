internal import GatewayCore

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
