/// Parses one JSON value of a body in one of two dialects.
///
/// Values nested deeper than ``maximumDepth`` are rejected, so a hostile body cannot exhaust the stack.
struct JSONReader {
    /// The greatest nesting of arrays and objects, as in ASP.NET Core.
    static let maximumDepth = 32

    let bytes: [UInt8]
    let dialect: JSONDialect
    var position = 0

    /// Parses a whole body. Also throws for invalid UTF-8.
    static func read(_ body: [UInt8], _ dialect: JSONDialect) throws(JSONFault) -> JSONValue {
        guard String(validating: body, as: UTF8.self) != nil else { throw JSONFault() }
        var reader = JSONReader(bytes: body, dialect: dialect)
        if body.starts(with: [0xEF, 0xBB, 0xBF]) { reader.position = 3 }
        let value = try reader.readValue(depth: 0)
        guard dialect == .strict else { return value }
        try reader.skipSpace()
        guard reader.current == nil else { throw JSONFault() }
        return value
    }

    var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func readValue(depth: Int) throws(JSONFault) -> JSONValue {
        try skipSpace()
        switch current {
        case UInt8(ascii: "{"): return try readObject(depth: depth)
        case UInt8(ascii: "["): return try readArray(depth: depth)
        case UInt8(ascii: "\""): return .string(try readString())
        case UInt8(ascii: "'") where dialect == .lenient: return .string(try readString())
        default: return try readWord()
        }
    }

    private mutating func readArray(depth: Int) throws(JSONFault) -> JSONValue {
        guard depth < Self.maximumDepth else { throw JSONFault() }
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

    private mutating func readObject(depth: Int) throws(JSONFault) -> JSONValue {
        guard depth < Self.maximumDepth else { throw JSONFault() }
        position += 1
        var members: [JSONValue.Member] = []
        while true {
            try skipSpace()
            if current == UInt8(ascii: "}"), members.isEmpty || dialect == .lenient { break }
            let name = try readName()
            try skipSpace()
            guard current == UInt8(ascii: ":") else { throw JSONFault() }
            position += 1
            members.append(.init(name: name, value: try readValue(depth: depth + 1)))
            if try !continues(until: UInt8(ascii: "}")) { break }
        }
        position += 1
        return .object(members)
    }

    /// Skips a comma and returns true, or stops at the end mark and returns false.
    private mutating func continues(until end: UInt8) throws(JSONFault) -> Bool {
        try skipSpace()
        if current == end { return false }
        guard current == UInt8(ascii: ",") else { throw JSONFault() }
        position += 1
        return true
    }

    private mutating func readName() throws(JSONFault) -> String {
        if current == UInt8(ascii: "\"") { return try readString() }
        guard dialect == .lenient else { throw JSONFault() }
        if current == UInt8(ascii: "'") { return try readString() }
        let name = bytes[position...].prefix { byte in
            byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$") || Self.isLetterOrDigit(byte)
        }
        guard !name.isEmpty else { throw JSONFault() }
        position += name.count
        return String(decoding: name, as: UTF8.self)
    }

    /// Skips white space, and comments in the lenient dialect.
    private mutating func skipSpace() throws(JSONFault) {
        while let byte = current {
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case UInt8(ascii: "/") where dialect == .lenient: try skipComment()
            default: return
            }
        }
    }

    private mutating func skipComment() throws(JSONFault) {
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
            throw JSONFault()
        } else {
            throw JSONFault()
        }
    }
}
