internal import GatewaySupport

/// The query of a URI: names and values in the encoding of forms, which most clients use in queries too (WHATWG URL,
/// `application/x-www-form-urlencoded`).
package enum QueryText {
    /// The maximum number of parameters.
    static let maximumParameters = 64

    /// Returns the names and values of a query; empty without one.
    ///
    /// - Throws: `ControlError` if it is no valid encoding of UTF-8, a name occurs twice, or there are too many.
    package static func parse(_ query: String?) throws(ControlError) -> [(name: String, value: String)] {
        var found: [(name: String, value: String)] = []
        var names: Set<String> = []
        for pair in (query ?? "").utf8.split(separator: UInt8(ascii: "&")) {
            let end = pair.firstIndex(of: UInt8(ascii: "=")) ?? pair.endIndex
            let value = end == pair.endIndex ? pair[end...] : pair[pair.index(after: end)...]
            guard let name = decode(pair[..<end]), let value = decode(value) else {
                throw .malformed("The query is not valid: a percent sign must precede two hexadecimal digits of UTF-8.")
            }
            guard names.insert(name).inserted else { throw .malformed("The query contains a parameter twice.") }
            guard found.count < maximumParameters else {
                throw .malformed("The query has more than \(maximumParameters) parameters.")
            }
            found.append((name, value))
        }
        return found
    }

    /// Returns the text of a query, or of a path component with `isPath`; nil if it is no valid encoding of UTF-8.
    package static func decode(_ text: some Collection<UInt8>, isPath: Bool = false) -> String? {
        var bytes: [UInt8] = []
        var rest = text[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
                    return nil
                }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where !isPath: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// Returns the text with all bytes escaped that are not unreserved (RFC 3986, section 2.3).
    package static func encode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return encoded
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
