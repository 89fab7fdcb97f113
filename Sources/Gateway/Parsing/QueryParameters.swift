internal import GatewayCore
internal import GatewaySupport
internal import NIOCore

/// The parameters of a query: split at `&`, percent-decoded once, valid UTF-8. Each name must be known and unique.
///
/// Names are compared without case, as backends do.
struct QueryParameters {
    private var values: [(name: String, value: String)] = []

    init(_ query: ByteBuffer?, allowed: [String]) throws(Rejection) {
        guard let query, query.readableBytes > 0 else { return }
        let bytes = query.readableBytesUInt8Span
        values.reserveCapacity(allowed.count)
        var start = 0
        while start <= bytes.count {
            let end = Self.index(of: UInt8(ascii: "&"), in: bytes, start..<bytes.count)
            let equals = Self.index(of: UInt8(ascii: "="), in: bytes, start..<end)
            let name = try Self.decoded(bytes.extracting(start..<equals)).asciiLowercased
            let value = try Self.decoded(bytes.extracting(min(equals + 1, end)..<end))
            start = end + 1
            guard allowed.contains(name) else { throw Rejection(.malformedRequest, "an unknown query parameter") }
            guard !values.contains(where: { $0.name == name }) else {
                throw Rejection(.malformedRequest, "a duplicate query parameter: \(name)")
            }
            values.append((name, value))
        }
    }

    /// The number of parameters.
    var count: Int { values.count }

    /// Returns the value, or nil if the parameter is absent.
    func value(_ name: String) -> String? {
        values.first { $0.name == name }?.value
    }

    /// Returns the value of a mandatory parameter.
    func require(_ name: String) throws(Rejection) -> String {
        guard let value = value(name) else {
            throw Rejection(.malformedRequest, "the query parameter \(name) is missing")
        }
        return value
    }

    /// Returns the first index of the byte in the range, or the end of the range.
    private static func index(of byte: UInt8, in bytes: Span<UInt8>, _ range: Range<Int>) -> Int {
        var index = range.lowerBound
        while index < range.upperBound, bytes[index] != byte { index += 1 }
        return index
    }

    private static func decoded(_ text: Span<UInt8>) throws(Rejection) -> String {
        // Text without escapes, the usual case, is read without a copy.
        var index = 0
        while index < text.count, !isEncoded(text[index]) { index += 1 }
        if index == text.count { return try string(text) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        index = 0
        while index < text.count {
            let byte = text[index]
            switch byte {
            case UInt8(ascii: "+"):
                bytes.append(0x20)
            case UInt8(ascii: ";"):
                throw Rejection(.malformedRequest, "a semicolon in the query")
            case UInt8(ascii: "%"):
                guard index + 2 < text.count, let high = text[index + 1].hexDigitValue,
                    let low = text[index + 2].hexDigitValue
                else { throw Rejection(.malformedRequest, "a malformed percent-escape in the query") }
                bytes.append(high << 4 | low)
                index += 2
            default:
                bytes.append(byte)
            }
            index += 1
        }
        return try string(bytes.span)
    }

    private static func isEncoded(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "+") || byte == UInt8(ascii: ";") || byte == UInt8(ascii: "%")
    }

    private static func string(_ bytes: Span<UInt8>) throws(Rejection) -> String {
        do {
            return String(copying: try UTF8Span(validating: bytes))
        } catch {
            throw Rejection(.malformedRequest, "the query is not UTF-8")
        }
    }
}

/// The query of a list of notifications: an earliest time and a maximum number.
struct ReceivedQuery {
    /// The maximum and default number of results.
    static let maximumLimit = 100

    /// The parameter `since`; nil without one.
    let since: WallTime?
    /// The parameter `limit`, or its default.
    let limit: Int

    /// Reads the parameters.
    init(_ query: ByteBuffer?) throws(Rejection) {
        let query = try QueryParameters(query, allowed: ["since", "limit"])
        var since: WallTime?
        if let text = query.value("since") {
            guard let time = WallTime(rfc3339: text) else {
                throw Rejection(
                    .malformedRequest, "since is not a time",
                    hint: "since must be a time such as 2026-11-21T07:00:00Z.")
            }
            since = time
        }
        var limit = Self.maximumLimit
        if let text = query.value("limit") {
            guard text.utf8.count <= 3, text.utf8.allSatisfy(\.isASCIIDigit), let number = Int(text),
                (1...Self.maximumLimit).contains(number)
            else {
                throw Rejection(
                    .malformedRequest, "limit is out of range", hint: "limit must be from 1 to \(Self.maximumLimit).")
            }
            limit = number
        }
        self.since = since
        self.limit = limit
    }
}
