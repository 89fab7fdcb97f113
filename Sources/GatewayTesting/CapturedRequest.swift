public import NIOCore

/// A request parsed from the exact bytes that the gateway would send to a backend.
///
/// The parser is strict and independent of the product's, to show that other implementations can read the request.
public struct CapturedRequest: Sendable, Hashable {
    /// One header field.
    public struct Field: Sendable, Hashable {
        /// The name as written.
        public var name: String
        /// The value.
        public var value: String
    }

    /// The method.
    public var method: String
    /// The target as written.
    public var target: String
    /// All header fields, in order.
    public var fields: [Field]
    /// The body.
    public var body: [UInt8]
    /// The whole request.
    public var bytes: [UInt8]

    /// Parses the bytes; returns nil if they are not exactly one HTTP/1.1 request with a length.
    public init?(_ buffer: ByteBuffer) {
        bytes = Array(buffer.readableBytesView)
        guard let head = Self.endOfHead(bytes), let text = String(validating: bytes[..<head], as: UTF8.self) else {
            return nil
        }
        var lines = Self.lines(of: text)
        let requestLine = lines.removeFirst().split(separator: " ", omittingEmptySubsequences: false)
        guard requestLine.count == 3, requestLine[2] == "HTTP/1.1", requestLine[1].hasPrefix("/"),
            text.utf8.allSatisfy({ $0 == 0x0D || $0 == 0x0A || (0x20..<0x7F).contains($0) })
        else { return nil }
        method = String(requestLine[0])
        target = String(requestLine[1])
        fields = []
        for line in lines {
            guard let colon = line.firstRange(of: ": "), colon.lowerBound > line.startIndex else { return nil }
            fields.append(Field(name: String(line[..<colon.lowerBound]), value: String(line[colon.upperBound...])))
        }
        body = Array(bytes[(head + 4)...])
        let lengths = fields.filter { $0.name == "Content-Length" }
        guard lengths.count <= 1, Int(lengths.first?.value ?? "0") == body.count else { return nil }
    }

    /// Returns the values of the fields with this name.
    public func values(_ name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The target without its query.
    public var path: String { target.split(separator: "?", maxSplits: 1).first.map(String.init) ?? target }

    /// The parameters of the target's query, decoded once; nil if one cannot be decoded.
    public var query: [(name: String, value: String)]? {
        guard let mark = target.firstIndex(of: "?") else { return [] }
        var parameters: [(name: String, value: String)] = []
        for pair in target[target.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false) {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = Self.decoded(parts[0]), let value = Self.decoded(parts[1]) else {
                return nil
            }
            parameters.append((name, value))
        }
        return parameters
    }

    private static func endOfHead(_ bytes: [UInt8]) -> Int? {
        let end: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A]
        return bytes.indices.first { bytes[$0...].starts(with: end) }
    }

    /// Splits a head into lines. Splits by scalars, because a carriage return and a line feed form one `Character`.
    private static func lines(of head: String) -> [String] {
        var lines = [String.UnicodeScalarView()]
        var previous: Unicode.Scalar?
        for scalar in head.unicodeScalars {
            if scalar == "\n", previous == "\r" {
                lines[lines.count - 1].removeLast()
                lines.append(String.UnicodeScalarView())
            } else {
                lines[lines.count - 1].append(scalar)
            }
            previous = scalar
        }
        return lines.map { String($0) }
    }

    private static func decoded(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return nil
            }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
