internal import GatewayCore

extension RequestHead {
    /// Stores the method. Methods are case-sensitive (RFC 9110, section 9.1). An unknown method leaves `method` nil;
    /// CONNECT is rejected.
    mutating func process(method word: Range<Int>, in bytes: borrowing Span<UInt8>) throws(FramingError) {
        guard !word.isEmpty else { throw .malformed("a request without a method") }
        if Self.spells("GET", bytes, word) {
            method = .get
        } else if Self.spells("POST", bytes, word) {
            method = .post
        } else if Self.spells("PUT", bytes, word) {
            method = .put
        } else if Self.spells("DELETE", bytes, word) {
            method = .delete
        } else if Self.spells("HEAD", bytes, word) {
            isHead = true
        } else if Self.spells("CONNECT", bytes, word) {
            throw .malformed("CONNECT")
        }
    }

    private static func spells(_ word: String, _ bytes: borrowing Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard range.count == word.utf8.count else { return false }
        var index = range.lowerBound
        for byte in word.utf8 {
            if bytes[index] != byte { return false }
            index += 1
        }
        return true
    }
}
