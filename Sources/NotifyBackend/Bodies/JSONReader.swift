/// A parser of one JSON value in one of two dialects.
///
/// The nesting depth is limited to ``maximumDepth``, so that no body can exhaust the stack.
struct JSONReader {
    /// The maximum nesting of arrays and objects, as in ASP.NET Core.
    static let maximumDepth = 32

    let bytes: [UInt8]
    let dialect: JSONDialect
    var position = 0

    /// Parses a whole body. Invalid UTF-8 is an error too.
    static func read(_ body: [UInt8], _ dialect: JSONDialect) throws(JSONError) -> JSONValue {
        guard String(validating: body, as: UTF8.self) != nil else { throw JSONError() }
        var reader = JSONReader(bytes: body, dialect: dialect)
        if body.starts(with: [0xEF, 0xBB, 0xBF]) { reader.position = 3 }
        let value = try reader.readValue(depth: 0)
        guard dialect == .strict else { return value }
        try reader.skipSpace()
        guard reader.current == nil else { throw JSONError() }
        return value
    }

    var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func readValue(depth: Int) throws(JSONError) -> JSONValue {
        try skipSpace()
        switch current {
        case UInt8(ascii: "{"): return try readObject(depth: depth)
        case UInt8(ascii: "["): return try readArray(depth: depth)
        case UInt8(ascii: "\""): return .string(try readString())
        case UInt8(ascii: "'") where dialect == .lenient: return .string(try readString())
        default: return try readWord()
        }
    }

    private mutating func readArray(depth: Int) throws(JSONError) -> JSONValue {
        guard depth < Self.maximumDepth else { throw JSONError() }
        position += 1
        var values: [JSONValue] = []
        while true {
            try skipSpace()
            if current == UInt8(ascii: "]"), values.isEmpty || dialect == .lenient { break }
            values.append(try readValue(depth: depth + 1))
            if try !continues(until: UInt8(ascii: "]")) { break }
        }
        position += 1
        return .array(values)
    }

    private mutating func readObject(depth: Int) throws(JSONError) -> JSONValue {
        guard depth < Self.maximumDepth else { throw JSONError() }
        position += 1
        var members: [JSONValue.Member] = []
        while true {
            try skipSpace()
            if current == UInt8(ascii: "}"), members.isEmpty || dialect == .lenient { break }
            let name = try readName()
            try skipSpace()
            guard current == UInt8(ascii: ":") else { throw JSONError() }
            position += 1
            members.append(.init(name: name, value: try readValue(depth: depth + 1)))
            if try !continues(until: UInt8(ascii: "}")) { break }
        }
        position += 1
        return .object(members)
    }

    /// Skips a comma and returns true, or returns false at the closing delimiter.
    private mutating func continues(until end: UInt8) throws(JSONError) -> Bool {
        try skipSpace()
        if current == end { return false }
        guard current == UInt8(ascii: ",") else { throw JSONError() }
        position += 1
        return true
    }

    private mutating func readName() throws(JSONError) -> String {
        if current == UInt8(ascii: "\"") { return try readString() }
        guard dialect == .lenient else { throw JSONError() }
        if current == UInt8(ascii: "'") { return try readString() }
        let name = bytes[position...].prefix { byte in
            byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$") || Self.isLetterOrDigit(byte)
        }
        guard !name.isEmpty else { throw JSONError() }
        position += name.count
        return String(decoding: name, as: UTF8.self)
    }

    /// Skips white space, and comments in the lenient dialect.
    private mutating func skipSpace() throws(JSONError) {
        while let byte = current {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case UInt8(ascii: "/") where dialect == .lenient: try skipComment()
            default: return
            }
        }
    }

    private mutating func skipComment() throws(JSONError) {
        let rest = bytes[position...]
        if rest.starts(with: Array("//".utf8)) {
            position = rest.firstIndex { $0 == 0x0A || $0 == 0x0D } ?? bytes.count
        } else if rest.starts(with: Array("/*".utf8)) {
            position += 2
            while position + 1 < bytes.count {
                if bytes[position] == UInt8(ascii: "*"), bytes[position + 1] == UInt8(ascii: "/") {
                    position += 2
                    return
                }
                position += 1
            }
            throw JSONError()
        } else {
            throw JSONError()
        }
    }
}

/// A JSON value as a backend's deserializer sees it: numbers as text, members in order with duplicates.
enum JSONValue: Equatable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// A member of an object.
    struct Member: Equatable {
        let name: String
        let value: JSONValue
    }

    /// The value of the last member with this name, compared without case. Of duplicates, the last one wins in both
    /// deserializers of ASP.NET.
    subscript(member: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name.lowercased() == member.lowercased() }?.value
    }
}

/// A dialect of JSON.
enum JSONDialect {
    /// Json.NET as configured by Web API 2: single quotes, unquoted member names, comments, trailing commas. Text after
    /// the first value is ignored.
    case lenient
    /// System.Text.Json as configured by ASP.NET Core: RFC 8259.
    case strict
}

/// The error that a body is not JSON in the given dialect.
struct JSONError: Error {}
