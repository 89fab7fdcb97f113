internal import GatewayCore
internal import NIOCore

/// The parameters of a query: split at `&`, decoded once, UTF-8, each of a known name and there once.
///
/// Names match without case and are duplicates without case, as they are to the backends.
struct QueryParameters {
    private var values: [(name: String, value: String)] = []

    init(_ query: ByteBuffer?, allowed: [String]) throws(Refusal) {
        guard let query, query.readableBytes > 0 else { return }
        for pair in query.readableBytesView.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            let equals = pair.firstIndex(of: UInt8(ascii: "="))
            let name = try Self.decoded(pair[..<(equals ?? pair.endIndex)]).asciiLowercased
            let value = try Self.decoded(equals.map { pair[pair.index(after: $0)...] } ?? pair[pair.endIndex...])
            guard allowed.contains(name) else { throw Refusal(.malformedRequest, "an unknown query parameter") }
            guard !values.contains(where: { $0.name == name }) else {
                throw Refusal(.malformedRequest, "a duplicate query parameter: \(name)")
            }
            values.append((name, value))
        }
    }

    /// The value, or nil where it is absent.
    func take(_ name: String) -> String? {
        values.first { $0.name == name }?.value
    }

    /// The value, which must be there.
    func require(_ name: String) throws(Refusal) -> String {
        guard let value = take(name) else { throw Refusal(.malformedRequest, "the query parameter \(name) is missing") }
        return value
    }

    private static func decoded(_ text: ByteBufferView) throws(Refusal) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            switch byte {
            case UInt8(ascii: "+"):
                bytes.append(0x20)
            case UInt8(ascii: ";"):
                throw Refusal(.malformedRequest, "a semicolon in the query")
            case UInt8(ascii: "%"):
                guard index + 2 < text.endIndex, let high = text[index + 1].hexDigitValue,
                    let low = text[index + 2].hexDigitValue
                else { throw Refusal(.malformedRequest, "a broken percent-escape in the query") }
                bytes.append(high << 4 | low)
                index += 2
            default:
                bytes.append(byte)
            }
            index += 1
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Refusal(.malformedRequest, "the query is not UTF-8")
        }
        return text
    }
}
