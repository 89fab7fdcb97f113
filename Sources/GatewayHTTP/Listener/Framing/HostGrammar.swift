internal import GatewayCore
internal import GatewaySupport

/// A strict form of `uri-host [":" port]` (RFC 9110, section 7.2): a name, an IPv4 address, or an IPv6 address in
/// brackets. An empty host is invalid.
enum HostGrammar {
    /// Returns whether the range is a host with an optional port.
    static func matches(_ range: Range<Int>, in bytes: borrowing Span<UInt8>) -> Bool {
        guard !range.isEmpty else { return false }
        var index = range.lowerBound
        if bytes[index] == UInt8(ascii: "[") {
            index += 1
            let start = index
            while index < range.upperBound, isAddressByte(bytes[index]) { index += 1 }
            guard index > start, index < range.upperBound, bytes[index] == UInt8(ascii: "]") else { return false }
            index += 1
        } else {
            while index < range.upperBound, isNameByte(bytes[index]) { index += 1 }
            guard index > range.lowerBound else { return false }
        }
        guard index < range.upperBound else { return true }
        guard bytes[index] == .colon, range.upperBound - index <= 6 else { return false }
        index += 1
        while index < range.upperBound, bytes[index].isASCIIDigit { index += 1 }
        return index == range.upperBound
    }

    /// Compares two hosts and their ports, ignoring case. A missing port, an empty port and the default port of the
    /// scheme are equal (RFC 9110, section 4.2.3). Both ranges must match the grammar.
    static func equal(
        _ left: Range<Int>, _ right: Range<Int>, defaultPort: StaticString, in bytes: borrowing Span<UInt8>
    ) -> Bool {
        let left = withoutDefaultPort(left, defaultPort, in: bytes)
        let right = withoutDefaultPort(right, defaultPort, in: bytes)
        guard left.count == right.count else { return false }
        for offset in 0..<left.count {
            let (a, b) = (bytes[left.lowerBound + offset], bytes[right.lowerBound + offset])
            if a.asciiLowercased != b.asciiLowercased { return false }
        }
        return true
    }

    private static func withoutDefaultPort(
        _ host: Range<Int>, _ defaultPort: StaticString, in bytes: borrowing Span<UInt8>
    ) -> Range<Int> {
        var colon = host.upperBound
        // A port consists of digits, so a colon inside the brackets of an IPv6 address is never found here.
        while colon > host.lowerBound, bytes[colon - 1].isASCIIDigit { colon -= 1 }
        guard colon > host.lowerBound, bytes[colon - 1] == .colon else { return host }
        let port = colon..<host.upperBound
        return port.isEmpty || bytes.equalsIgnoringCase(defaultPort, in: port) ? host.lowerBound..<colon - 1 : host
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: byte.isAlphanumeric
        }
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        byte.hexDigitValue != nil || byte == .colon || byte == UInt8(ascii: ".")
    }
}
